"""Which early words become which messages, and when: pure; nothing is read, sent or written here.

All words of one reader share a message. While that waits, it takes the words that come later. Words for which a day
has no message left wait for the next day.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, tzinfo
from enum import StrEnum

NIGHT_FROM, NIGHT_UNTIL = time(22), time(7)
"""No mail by the clock of its reader, unless they want it."""

MAILS_A_DAY_MAX = 3
"""So many messages about running jobs one person gets on one day; chosen by Kaiku so that each of them is read."""

TOLD_FOR = timedelta(days=1)
"""For so long a finding of an array is not repeated for its other jobs."""

Work = tuple[str, int]
"""Cluster and number of an array, else of a job."""

About = tuple[Work, str]
"""What a word is about: an array or job, and the finding."""


class EarlySilence(StrEnum):
    """Why a message is not sent, or a word not repeated."""

    OVER = "no_longer_so"
    OFF = "early_mail_off"
    TOLD = "told_of_this_array"


@dataclass(frozen=True)
class OpenWord:
    """A word that holds and was not mailed yet."""

    pk: int
    work: Work
    code: str

    @property
    def about(self) -> About:
        """Words of one array about the same are told once."""
        return self.work, self.code


@dataclass(frozen=True)
class PastMail:
    """What one reader got of late: the message that waits, what is in messages whose outcome is not known yet, what was
    told within `TOLD_FOR`, and how many messages each day has."""

    waiting: int | None = None
    in_doubt: Collection[About] = ()
    told: Collection[About] = ()
    a_day: Mapping[date, int] = field(default_factory=dict)


@dataclass(frozen=True)
class EarlyMessage:
    """Words for one message: for the waiting one `delivery_pk`, else for a new one that is due at `due_at`."""

    words: tuple[OpenWord, ...]
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
) -> list[EarlyMessage]:
    """What to do with the words now: at most one message, and what is not repeated; the others keep waiting."""
    told = tuple(word for word in words if word.about in past.told)
    fresh = tuple(word for word in words if word.about not in past.told and word.about not in past.in_doubt)
    planned = [EarlyMessage(told, reason=EarlySilence.TOLD)] if told else []
    due_at = now if at_night else morning_after(now, zone) or now
    if fresh and past.waiting is not None:
        planned.append(EarlyMessage(fresh, delivery_pk=past.waiting))
    elif fresh and past.a_day.get(due_at.astimezone(zone).date(), 0) < MAILS_A_DAY_MAX:
        planned.append(EarlyMessage(fresh, due_at=due_at))
    return planned


def morning_after(now: datetime, zone: tzinfo) -> datetime | None:
    """When the night that now is in ends there; None in the day.

    >>> from datetime import UTC
    >>> print(morning_after(datetime(2026, 11, 20, 23, 30, tzinfo=UTC), UTC))
    2026-11-21 07:00:00+00:00
    >>> print(morning_after(datetime(2026, 11, 20, 12, 0, tzinfo=UTC), UTC))
    None
    """
    local = now.astimezone(zone)
    if NIGHT_UNTIL <= local.time() < NIGHT_FROM:
        return None
    day = local.date() + timedelta(days=local.time() >= NIGHT_FROM)
    return datetime.combine(day, NIGHT_UNTIL, tzinfo=zone)
