"""The days that a grant report is about: from a first to a last one, which both belong to it."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from analysis.history.periods import DAILY_UP_TO_DAYS, Period, months_later
from wire.times import YEARS

DAY = timedelta(days=1)
DAYS_MAX = 3660
"""Ten years: longer than any allocation."""

MONTHS_A_YEAR, MONTHS_A_QUARTER = 12, 3


class SpanError(ValueError):
    """These are no days of a report; the message states why."""


@dataclass(frozen=True)
class Span:
    """Days from `first` to `last`."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def text(self) -> str:
        """The days as people write them.

        >>> Span(date(2026, 1, 1), date(2026, 3, 31)).text
        '1 January 2026 – 31 March 2026'
        """
        return f"{day_text(self.first)} – {day_text(self.last)}"

    def period(self, zone: tzinfo) -> Period:
        """The same between midnights of this zone, in steps of days, or of weeks where it is long."""
        start, end = (datetime(day.year, day.month, day.day, tzinfo=zone) for day in (self.first, self.last + DAY))
        return Period(start, end, "day" if self.days <= DAILY_UP_TO_DAYS + 1 else "week")


def day_text(day: date) -> str:
    """A day as people write it."""
    return f"{day:%-d %B %Y}"


def span_of(first: str, last: str) -> Span:
    """The days that are written as YYYY-MM-DD. Raises SpanError.

    >>> span_of("2026-01-01", "2026-01-31").days
    31
    """
    span = Span(_day(first, "from"), _day(last, "until"))
    if span.last < span.first:
        raise SpanError("“until” must not be before “from”.")
    if span.days > DAYS_MAX:
        raise SpanError("A report covers at most ten years.")
    return span


def _day(text: str, name: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise SpanError(f"“{name}” must be a day such as 2026-01-31.") from None
    if day.year not in YEARS:
        raise SpanError(f"“{name}” must be in the years {YEARS[0]} to {YEARS[-1]}.")
    return day


def months(first: date, count: int) -> Span:
    """This number of whole months from the first day of one; negative: so many before it.

    >>> months(date(2026, 1, 1), 3).text, months(date(2026, 1, 1), -1).text
    ('1 January 2026 – 31 March 2026', '1 December 2025 – 31 December 2025')
    """
    other = months_later(first, count)
    return Span(first, other - DAY) if count > 0 else Span(other, first - DAY)


def before(span: Span, today: date) -> Span:
    """What a span is compared with: as many whole months before whole months, else as many days before.

    Of a span that is not over, the days until today are compared with as many from the beginning of the one before.

    >>> before(Span(date(2026, 10, 1), date(2026, 12, 31)), date(2027, 2, 1)).text
    '1 July 2026 – 30 September 2026'
    >>> before(Span(date(2026, 10, 1), date(2026, 12, 31)), date(2026, 10, 10)).text
    '1 July 2026 – 10 July 2026'
    >>> before(Span(date(2026, 10, 5), date(2026, 10, 6)), date(2026, 12, 1)).text
    '3 October 2026 – 4 October 2026'
    """
    whole = _whole_months(span)
    as_many_days = Span(span.first - timedelta(days=span.days), span.first - DAY)
    earlier = months(span.first, -whole) if whole else as_many_days
    if span.first <= today < span.last:
        return Span(earlier.first, min(earlier.last, earlier.first + (today - span.first)))
    return earlier


def _whole_months(span: Span) -> int:
    """How many whole months a span is; 0 where it is none."""
    if span.first.day != 1 or span.last.day != monthrange(span.last.year, span.last.month)[1]:
        return 0
    return (span.last.year - span.first.year) * MONTHS_A_YEAR + span.last.month - span.first.month + 1


def offered(today: date, allocation: Span | None) -> list[tuple[str, Span]]:
    """(Name, span) of those a page offers: of the allocation if it is known, then calendar years, quarters, months.

    >>> [name for name, _ in offered(date(2026, 11, 20), None)]
    ['2026', '2025', 'Q4 2026', 'Q3 2026', 'November 2026', 'October 2026']
    """
    month = today.replace(day=1)
    quarter = month.replace(month=(month.month - 1) // MONTHS_A_QUARTER * MONTHS_A_QUARTER + 1)
    year = month.replace(month=1)
    years = [months(year, MONTHS_A_YEAR), months(year, -MONTHS_A_YEAR)]
    quarters = [months(quarter, MONTHS_A_QUARTER), months(quarter, -MONTHS_A_QUARTER)]
    found = [("Allocation period", allocation)] if allocation else []
    return [
        *found,
        *((f"{span.first:%Y}", span) for span in years),
        *((f"Q{span.last.month // MONTHS_A_QUARTER} {span.first:%Y}", span) for span in quarters),
        *((f"{span.first:%B %Y}", span) for span in (months(month, 1), months(month, -1))),
    ]
