"""When a message that could not be handed over is tried again, and when it is given up."""

from datetime import datetime, timedelta

BACK_OFF = tuple(
    timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 180, 360, 720, 1440)
)  # 46 hours in all: no message is lost while a mail server is down for most of a weekend
INTERRUPTIONS_MAX = 1
LEASE = timedelta(minutes=15)
"""After this long in state "sending" the worker of a mail is gone."""
REASON_LENGTH_MAX = 200


def next_attempt_at(attempts: int, now: datetime) -> datetime | None:
    """When to try again after so many attempts (1 after the first); None when it is time to give up.

    >>> from datetime import UTC
    >>> start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    >>> next_attempt_at(1, start) - start, next_attempt_at(9, start)
    (datetime.timedelta(seconds=60), None)
    """
    return now + BACK_OFF[attempts - 1] if attempts <= len(BACK_OFF) else None
