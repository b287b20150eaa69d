"""The latest reports of a person as entries of a feed: plain values, from what a message would state of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from reports.mail.view import Told, entry, subject
from reports.numbers import NO_BREAK

SENDER = "Kaiku: "
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may contain (W3C, Extensible Markup Language 1.0, section 2.2)."""


@dataclass(frozen=True)
class FeedEntry:
    """One report; `key` is the name of its run, the same in every feed, and no text holds what XML forbids."""

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


def xml_text(text: str) -> str:
    """Text in which U+FFFD stands for what XML forbids.

    >>> xml_text("a\\x0bb"), xml_text("<b>&")
    ('a�b', '<b>&')
    """
    return NOT_IN_XML.sub("\ufffd", text.replace(NO_BREAK, " "))
