"""Reading months: those that are closed with their figures, and those that can be."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

import msgspec
from django.db.models import QuerySet

from analysis.models import ClosedMonth
from analysis.months.kind import MonthKind
from analysis.rollups.selectors import site_zone, start_of
from jobs.selectors import keys_of_any

T = TypeVar("T")

MONTHS = 12
"""Months longer ago are neither closed nor shown."""


def next_month(first_day: date) -> date:
    """The first day of the month after this one.

    >>> next_month(date(2026, 12, 1))
    datetime.date(2027, 1, 1)
    """
    return (first_day + timedelta(days=31)).replace(day=1)


def month_ends(month: date) -> tuple[datetime, datetime]:
    return start_of(month), start_of(next_month(month))


def latest_months(code: str, before: date = date.max) -> list[ClosedMonth]:
    """The latest closed months of a kind, before another one, the latest first."""
    rows = ClosedMonth.objects.filter(kind=code, first_day__lt=before).order_by("-first_day")
    return list(rows[:MONTHS])


def latest_figures(code: str, figures: type[T]) -> list[tuple[date, T]]:
    """The same with their figures, the latest first."""
    return [(row.first_day, msgspec.convert(row.figures, figures)) for row in latest_months(code)]


def figures_of(code: str, first_day: date, figures: type[T]) -> T | None:
    """The figures of one month; None while it is not closed."""
    row = ClosedMonth.objects.filter(kind=code, first_day=first_day).first()
    return None if row is None else msgspec.convert(row.figures, figures)


def months_not_closed(kind: MonthKind, now: datetime) -> list[date]:
    """The first days of the months that ended long enough ago, have data and are not closed, the oldest first."""
    if kind.follows:
        followed = ClosedMonth.objects.filter(kind=kind.follows).order_by("-first_day")
        months = list(followed.values_list("first_day", flat=True)[:MONTHS])
    else:
        last = (now.astimezone(site_zone()) - kind.after).date().replace(day=1)
        months = [last := (last - timedelta(days=1)).replace(day=1) for _ in range(MONTHS)]
    closed = ClosedMonth.objects.filter(kind=kind.code, first_day__in=months).values_list("first_day", flat=True)
    still_open = sorted(set(months) - set(closed))
    return sorted(kind.having(still_open)) if still_open else []


def months_with(rows: QuerySet[Any], at: str, months: Sequence[date]) -> list[date]:
    """Those of these months in which some of the rows are, by their time `at`: one query, each month by its index."""
    ends = {month: month_ends(month) for month in months}
    firsts = (rows.filter(**{f"{at}__gte": start, f"{at}__lt": end}).order_by(at)[:1] for start, end in ends.values())
    found = list(rows.model._default_manager.filter(pk__in=keys_of_any(firsts)).values_list(at, flat=True))
    return [month for month, (start, end) in ends.items() if any(start <= moment < end for moment in found)]


def months_to_close(kind: MonthKind, now: datetime) -> list[date]:
    """Those of `months_not_closed` whose data are complete."""
    return [month for month in months_not_closed(kind, now) if kind.is_ready(month, now)]


def overdue_s(kind: MonthKind, month: date, now: datetime) -> float:
    """For how long a month could have been closed."""
    return (now - month_ends(month)[1] - kind.after).total_seconds()
