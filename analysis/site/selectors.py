"""Reading the months of the site: those that are stored, and those that can be closed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from django.db.models import QuerySet

from analysis.models import COUNTED_CLASS, JobEfficiency
from analysis.rollups.models import ProjectDay
from analysis.rollups.selectors import site_zone
from analysis.site.figures import MonthFigures, SiteRun
from analysis.site.models import SiteMonth
from jobs.models import User
from jobs.selectors import BY_SITE, keys_of_any

MONTHS = 12
"""How many ended months are shown, and closed where they are not."""

CLOSED_AFTER = timedelta(days=7)
"""Data that arrive later than this after the end of a month are not in its figures."""

SETTLED_AFTER = timedelta(days=1)
"""A month whose runs are being judged, after an import for example, is closed this long after the last of them."""

USERS_TOGETHER = 100
READ = (
    *("user_id", "project_id", "job__partition", "counted_class", "allocated_gpus", "finding_codes", "gpu_hours"),
    *("wasted_gpu_hours", "avg_gpu_util", "coverage_fraction", "is_partial", "energy_j"),
    *("started_at", "ended_at", "use_course", "project__science_field"),
)
"""The columns of `SiteRun`, in its order."""


@dataclass(frozen=True)
class ClosedMonth:
    """One month as it is shown."""

    first_day: date
    figures: MonthFigures
    closed_at: datetime


def closed_months() -> list[ClosedMonth]:
    """The latest months, the oldest first."""
    rows = SiteMonth.objects.order_by("-first_day").values_list("first_day", "figures", "closed_at")[:MONTHS]
    return [
        ClosedMonth(day, msgspec.convert(figures, MonthFigures), closed_at)
        for day, figures, closed_at in reversed(rows)
    ]


def next_month(first_day: date) -> date:
    """The first day of the month after this one.

    >>> next_month(date(2026, 12, 1))
    datetime.date(2027, 1, 1)
    """
    return (first_day + timedelta(days=31)).replace(day=1)


def months_to_close(now: datetime, settled_after: timedelta = SETTLED_AFTER) -> list[date]:
    """Those of `months_not_closed` whose runs are not being judged."""
    return [month for month in months_not_closed(now) if not is_being_judged(month, now - settled_after)]


def months_not_closed(now: datetime) -> list[date]:
    """The first days of months that ended long enough ago, have runs and are not closed, the latest first."""
    last = (now.astimezone(site_zone()) - CLOSED_AFTER).date().replace(day=1)
    months = [last := (last - timedelta(days=1)).replace(day=1) for _ in range(MONTHS)]
    closed = set(SiteMonth.objects.filter(first_day__in=months).values_list("first_day", flat=True))
    still_open = [month for month in months if month not in closed]
    firsts = (_days_of(month).order_by("day")[:1] for month in still_open)
    days = ProjectDay.objects.filter(pk__in=keys_of_any(firsts)).values_list("day", flat=True) if still_open else ()
    have_runs = {day.replace(day=1) for day in days}
    return [month for month in still_open if month in have_runs]


def _days_of(month: date) -> QuerySet[ProjectDay]:
    return ProjectDay.objects.filter(day__gte=month, day__lt=next_month(month))


def is_being_judged(month: date, since: datetime) -> bool:
    """Whether a run of this month was judged since."""
    start, end = month_ends(month)
    return JobEfficiency.objects.filter(analysed_at__gt=since, ended_at__gte=start, ended_at__lt=end).exists()


def month_ends(month: date) -> tuple[datetime, datetime]:
    start, end = (datetime(day.year, day.month, day.day, tzinfo=site_zone()) for day in (month, next_month(month)))
    return start, end


def runs_of_month(month: date) -> Iterator[SiteRun]:
    """The counted runs with a record from Slurm that ended in a month, some people at a time."""
    return (SiteRun(*row) for row in rows_of_month(month, *READ))


def rows_of_month(month: date, *columns: str) -> Iterator[tuple[Any, ...]]:
    """These columns of the same runs."""
    start, end = month_ends(month)
    for users in _some(list(User.objects.order_by("pk").values_list("pk", flat=True))):
        rows = JobEfficiency.objects.filter(
            BY_SITE, user__in=users, ended_at__gte=start, ended_at__lt=end, uncounted_reason="", gpu_hours__gt=0
        )
        yield from rows.annotate(counted_class=COUNTED_CLASS).values_list(*columns).iterator()


def _some(users: Sequence[int]) -> Iterator[Sequence[int]]:
    return (users[first : first + USERS_TOGETHER] for first in range(0, len(users), USERS_TOGETHER))
