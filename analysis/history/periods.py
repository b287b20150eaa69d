"""The periods of the history: months, and the last days, in steps of days or weeks."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

DAYS_OFFERED = (7, 30, 90, 365)
DAILY_UP_TO_DAYS = 30
WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Period:
    """From `start` until before `end`, both aware, drawn in steps of a "day" or a "week"."""

    start: datetime
    end: datetime
    step: str = "week"

    def steps(self) -> tuple[datetime, ...]:
        """The local midnights at which each step begins, as the database truncates to them; weeks begin on Monday.

        >>> from datetime import UTC
        >>> [f"{at:%d}" for at in Period(datetime(2026, 11, 4, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)).steps()]
        ['02', '09', '16']
        """
        first = midnight(self.start)
        if self.step == "week":
            first -= timedelta(days=first.weekday())
        length = WEEK if self.step == "week" else timedelta(days=1)
        found = []
        while first < self.end:
            found.append(first)
            # Wall-clock arithmetic: a local day stays a day when the clocks change.
            first += length
        return tuple(found)


def midnight(at: datetime) -> datetime:
    """The beginning of that local day."""
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def last_days(now: datetime, days: int) -> Period:
    """Today and the days before it, `days` in all; `now` in the reader's zone.

    >>> from datetime import UTC
    >>> f"{last_days(datetime(2026, 11, 20, 12, tzinfo=UTC), 7).start:%Y-%m-%d %H:%M}"
    '2026-11-14 00:00'
    """
    start = midnight(now) - timedelta(days=days - 1)
    return Period(start, now, "day" if days <= DAILY_UP_TO_DAYS else "week")


def months_later(first: date, count: int) -> date:
    """The first day of the month that is so many months after that of another one; negative: before it.

    >>> months_later(date(2026, 3, 1), -4), months_later(date(2026, 11, 1), 2)
    (datetime.date(2025, 11, 1), datetime.date(2027, 1, 1))
    """
    years, month = divmod(first.month - 1 + count, 12)
    return date(first.year + years, month + 1, 1)


def month(now: datetime) -> Period:
    """The current month so far."""
    return Period(midnight(now).replace(day=1), now, "day")


def month_before(now: datetime) -> Period:
    """The whole month before the current one.

    >>> from datetime import UTC
    >>> f"{month_before(datetime(2026, 1, 31, tzinfo=UTC)).start:%Y-%m-%d}"
    '2025-12-01'
    """
    end = month(now).start
    return Period((end - timedelta(days=1)).replace(day=1), end, "day")
