"""Which early words become which messages, and when: pure; nothing is read, sent or written here.

Words of one job, or of the jobs of one array, share a message. While that waits, it takes the words that come later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum

from reports.early.nights import morning_after

MAILS_A_DAY_MAX = 3
"""So many messages about running jobs one person gets on one day; chosen by Kaiku so that each of them is read."""

TOLD_FOR = timedelta(days=1)
"""For so long a finding of an array is not repeated for its other jobs."""

Work = tuple[str, int]
"""Cluster and number of an array, else of a job."""


class EarlySilence(StrEnum):
    """Why a word is not mailed."""

    OVER = "no_longer_so"
    OFF = "early_mail_off"
    DAY_FULL = "enough_mail_today"
    TOLD = "told_of_this_array"


@dataclass(frozen=True)
class OpenWord:
    """A word that holds and was not mailed yet."""

    pk: int
    work: Work
    code: str


@dataclass(frozen=True)
class PastMail:
    """What one person got of late: messages that wait by what they are about, works whose message is being sent, the
    findings of works that were told within `TOLD_FOR`, and how many messages each day has."""

    waiting: Mapping[Work, int] = field(default_factory=dict)
    in_sending: Collection[Work] = ()
    told: Collection[tuple[Work, str]] = ()
    a_day: Mapping[date, int] = field(default_factory=dict)


@dataclass(frozen=True)
class EarlyMessage:
    """Words for one message: for the waiting one `delivery_pk`, else for a new one that is due at `due_at`."""

    word_pks: tuple[int, ...]
    work: Work
    delivery_pk: int | None = None
    due_at: datetime | None = None
    reason: EarlySilence | None = None


def plan_messages(
    words: Sequence[OpenWord],
    past: PastMail,
    now: datetime,
    zone: tzinfo,
    *,
    at_night: bool,
    a_day_max: int = MAILS_A_DAY_MAX,
) -> list[EarlyMessage]:
    """What to do with each word now; words in none of the messages keep waiting."""
    due_at = now if at_night else morning_after(now, zone) or now
    day = due_at.astimezone(zone).date()
    left = a_day_max - past.a_day.get(day, 0)
    planned = []
    for work, members in works(words).items():
        told = tuple(word.pk for word in members if (work, word.code) in past.told)
        fresh = tuple(word.pk for word in members if (work, word.code) not in past.told)
        if told:
            planned.append(EarlyMessage(told, work, reason=EarlySilence.TOLD))
        if not fresh or work in past.in_sending:
            continue
        if work in past.waiting:
            planned.append(EarlyMessage(fresh, work, delivery_pk=past.waiting[work]))
        elif left > 0:
            left -= 1
            planned.append(EarlyMessage(fresh, work, due_at=due_at))
        else:
            planned.append(EarlyMessage(fresh, work, reason=EarlySilence.DAY_FULL))
    return planned


def works(words: Sequence[OpenWord]) -> dict[Work, list[OpenWord]]:
    """The words by what they are about, in their order."""
    found: dict[Work, list[OpenWord]] = {}
    for word in words:
        found.setdefault(word.work, []).append(word)
    return found
