"""The latest reports of a person, and early words, as entries of a feed: plain values, as a message states them."""

import re
from dataclasses import dataclass
from datetime import datetime

from reports.early.told import ToldWord, early_subject
from reports.mail.view import Told, entry, subject
from reports.numbers import instant
from wire.numbers import NO_BREAK

SENDER = "Kaiku: "
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may contain (W3C, Extensible Markup Language 1.0, section 2.2)."""


@dataclass(frozen=True)
class FeedEntry:
    """One report or early word; `key` is its name, the same in every feed, and no text holds what XML forbids."""

    key: str
    title: str
    text: str
    url: str
    published_at: datetime
    updated_at: datetime


def feed_entry(told: Told, published_at: datetime | None, updated_at: datetime) -> FeedEntry:
    """The report of one run: its title is the subject of a message about it, without the sender."""
    shown, job = entry([told]), told.report.job
    lines = (shown.in_full, shown.request_text)
    return FeedEntry(
        key=f"{job.cluster}/{job.job_id}.{job.attempt}",
        title=xml_text(subject([told]).removeprefix(SENDER)),
        text=xml_text("\n".join(line for line in lines if line)),
        url=told.url,
        published_at=published_at or updated_at,
        updated_at=updated_at,
    )


def early_entry(
    word: ToldWord, over_at: datetime | None, ended_at: datetime | None, *, is_unsure: bool = False
) -> FeedEntry:
    """An early word: the same entry from when it is found on, changed once it is over.

    `is_unsure`: nothing says that it is over, but whether it still holds is not known either.
    """
    over = ended_at or over_at
    states = [word.text.title]
    if ended_at is not None:
        states.insert(0, f"The job ended at {instant(ended_at)}.")
    elif over_at is not None:
        states.insert(0, f"This no longer holds since {instant(over_at)}.")
    else:
        # What it costs and where to look is of use only while it holds.
        states += word.text.sentences
        states += [f"{step.text} {step.command}".strip() for step in (*word.text.steps, word.text.possibility)]
    if over is None and is_unsure:
        states = [f"Last confirmed at {instant(word.held_at)}; whether it still holds is not known.", *states[:-1]]
    return FeedEntry(
        key=f"{word.cluster}/{word.job_id}.{word.attempt}/{word.code.value}",
        title=xml_text(f"{'' if over is None else 'Over: '}{early_subject([word])}"),
        text=xml_text("\n".join(states)),
        url=word.url,
        published_at=word.found_at,
        updated_at=max(word.found_at, over or word.held_at),
    )


def xml_text(text: str) -> str:
    """Text in which U+FFFD stands for what XML forbids.

    >>> xml_text("a\\x0bb"), xml_text("<b>&")
    ('a�b', '<b>&')
    """
    return NOT_IN_XML.sub("\ufffd", text.replace(NO_BREAK, " "))
