"""Reading the months of the site: those that are stored, and those that can be closed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from django.db.models import QuerySet

from analysis.models import COUNTED_CLASS, JobEfficiency
from analysis.months.selectors import latest_months, month_ends, next_month
from analysis.rollups.models import ProjectDay
from analysis.site.figures import MonthFigures, SiteRun
from jobs.models import User
from jobs.selectors import BY_SITE, keys_of_any

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
class SiteMonth:
    """One month as it is shown."""

    first_day: date
    figures: MonthFigures
    closed_at: datetime


def closed_months() -> list[SiteMonth]:
    """The latest months, the oldest first."""
    return [
        SiteMonth(row.first_day, msgspec.convert(row.figures, MonthFigures), row.closed_at)
        for row in reversed(latest_months("site"))
    ]


def months_with_runs(months: Sequence[date]) -> set[date]:
    """Those of these months that have runs."""
    days_of = (ProjectDay.objects.filter(day__gte=month, day__lt=next_month(month)) for month in months)
    firsts = (days.order_by("day")[:1] for days in days_of)
    days = ProjectDay.objects.filter(pk__in=keys_of_any(firsts)).values_list("day", flat=True)
    return {day.replace(day=1) for day in days}


def is_being_judged(month: date, since: datetime) -> bool:
    """Whether a run of this month was judged since."""
    start, end = month_ends(month)
    return JobEfficiency.objects.filter(analysed_at__gt=since, ended_at__gte=start, ended_at__lt=end).exists()


def runs_of_month(month: date) -> Iterator[SiteRun]:
    """The counted runs with a record from Slurm that ended in a month, some people at a time."""
    return (SiteRun(*row) for row in rows_of_month(month, *READ))


def rows_of_month(month: date, *columns: str) -> Iterator[tuple[Any, ...]]:
    """These columns of the same runs."""
    for rows in counted_runs(*month_ends(month)):
        yield from rows.annotate(counted_class=COUNTED_CLASS).values_list(*columns).iterator()


def counted_runs(start: datetime, end: datetime) -> Iterator[QuerySet[JobEfficiency]]:
    """The counted runs with a record from Slurm that ended in this time: of some people at a time."""
    people = list(User.objects.order_by("pk").values_list("pk", flat=True))
    for first in range(0, len(people), USERS_TOGETHER):
        users = people[first : first + USERS_TOGETHER]
        yield JobEfficiency.objects.filter(
            BY_SITE, user__in=users, ended_at__gte=start, ended_at__lt=end, uncounted_reason="", gpu_hours__gt=0
        )
