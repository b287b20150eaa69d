"""When a webhook is tried again, paused and switched off; pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from jobs.work_queue.outbox.rules import BACK_OFF

OF_PERSON_MAX, OF_PROJECT_MAX = 5, 3
"""So many webhooks a person has for themselves, and a project has in all."""

PAUSED_FROM = 3
"""From this many failures in a row on, all deliveries of a webhook wait, not only the one that failed."""

UNDER_WAY, POST_LEASE = timedelta(seconds=15), timedelta(minutes=2)
"""A post and its answer take 5 seconds at most. While one may be under way its webhook gets no other, and later than
the lease it is posted again: its worker is gone."""

OFF_AFTER, OFF_FROM = timedelta(days=3), 5
"""A webhook is switched off that has failed for so long, and so often."""

RETRY_AFTER_MAX = timedelta(hours=6)
AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
"""Answers below 500 after which trying again may help."""


@dataclass(frozen=True)
class Answer:
    """What came of one POST: its status, 0 where there was none, and the reason in a few words.

    `retry_after_s` is how long the receiver wants to be left alone. `is_final`: trying again is useless.
    `is_in_doubt`: the receiver may have taken it.
    """

    status: int
    said: str
    retry_after_s: float = 0.0
    is_refused: bool = False
    is_in_doubt: bool = False

    @property
    def is_taken(self) -> bool:
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_busy(self) -> bool:
        """Whether the receiver works and wants less."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def is_final(self) -> bool:
        return self.is_refused or (HTTPStatus.MULTIPLE_CHOICES <= self.status < 500 and self.status not in AGAIN)


def retry_after(text: str) -> float:
    """The seconds of a `Retry-After` header, at most `RETRY_AFTER_MAX`; 0 where it states none. Dates are not read.

    >>> retry_after("30"), retry_after("1000000"), retry_after("Fri, 31 Dec 1999"), retry_after("-1")
    (30.0, 21600.0, 0.0, 0.0)
    """
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    return min(float(text), RETRY_AFTER_MAX.total_seconds()) if is_number else 0.0


def pause(failures: int) -> timedelta:
    """How long all deliveries of a webhook wait after so many failures in a row.

    >>> pause(2), pause(3), pause(4)
    (datetime.timedelta(0), datetime.timedelta(seconds=60), datetime.timedelta(seconds=300))
    """
    if failures < PAUSED_FROM:
        return timedelta(0)
    return BACK_OFF[min(failures - PAUSED_FROM, len(BACK_OFF) - 1)]


def is_over(failures: int, failing_since: datetime, now: datetime) -> bool:
    """Whether a webhook is to be switched off."""
    return failures >= OFF_FROM and now - failing_since >= OFF_AFTER
