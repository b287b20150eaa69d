"""Sums of runs day by day: stored ones, and where these changed since, sums of the judgements themselves.

Whose runs they are the caller has decided: a `Part` says what to add up, not who may see it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from django.db.models import Count, F, Max, Q, QuerySet, Sum, Value
from django.utils import timezone

from analysis.history.periods import Period
from analysis.history.run_sums import DAY, Days, JudgedRun, RunSums, add_run, add_sums, first_and_last, sums_by_day
from analysis.models import COUNTED_CLASS, JobEfficiency
from analysis.rollups.models import SCALARS, DaySums, PersonDay, ProjectDay, RollUpDue, WorkDay
from jobs.models import Project
from jobs.selectors import BY_SITE, Reach

READ = (
    *("ended_at", "started_at", "counted_class", "uncounted_reason", "avg_gpu_util"),
    *("gpu_hours", "wasted_gpu_hours", "saved_gpu_hours", "finding_codes", "energy_j"),
)
"""The columns of `JudgedRun`, in its order, of `judged_runs`."""

IS_MEASURED = Q(avg_gpu_util__isnull=False)
STORED_SUMS = {f"sum_{name}": Sum(name) for name in SCALARS}
JUDGED_SUMS: dict[str, Any] = {
    "sum_jobs": Count("job"),
    **{f"sum_{name}": Sum(name) for name in ("gpu_hours", "wasted_gpu_hours", "saved_gpu_hours")},
    "sum_measured": Sum("gpu_hours", filter=IS_MEASURED),
    "sum_used": Sum(F("gpu_hours") * F("avg_gpu_util") / 100, filter=IS_MEASURED),
}
"""`SCALARS` from judgements, in their order."""


@dataclass(frozen=True)
class Part:
    """Some runs of one person, of one project, or both; of a person also those outside some projects, or of one work.

    `within` are several projects instead of one. `by_site` leaves out what only owners reported, as sums over several
    people must.
    """

    user: int | None = None
    project: int | None = None
    outside: tuple[int, ...] = ()
    work_key: str | None = None
    by_site: bool = False
    within: QuerySet[Project, Any] | None = None

    @property
    def rows(self) -> Q:
        """The part in any table that has its columns, but for the work."""
        found = BY_SITE if self.by_site else Q()
        if self.user is not None:
            found &= Q(user=self.user)
        if self.project is not None:
            found &= Q(project=self.project)
        if self.within is not None:
            found &= Q(project__in=self.within)
        return found & ~Q(project__in=self.outside) if self.outside else found

    @property
    def judged(self) -> Q:
        """The part among judgements."""
        return self.rows if self.work_key is None else self.rows & Q(work_key=self.work_key)

    @property
    def due(self) -> Q:
        """The days of the part that are not rolled up."""
        return Part(self.user, self.project, self.outside, within=self.within).rows


def own_part(reach: Reach) -> Part:
    """A person's own runs."""
    return Part(user=reach.user_id)


def parts_by_site(reach: Reach) -> list[Part]:
    """Everything that a person sees and Slurm recorded, in parts that do not overlap."""
    own = Part(user=reach.user_id, outside=reach.led, by_site=True)
    return [own, *(Part(project=project, by_site=True) for project in reach.led)]


def project_part(reach: Reach, project: int) -> Part:
    """What a person sees of a project: its runs with a record from Slurm, for who does not lead it the own ones."""
    return Part(project=project, by_site=True) if project in reach.led else Part(reach.user_id, project)


def site_zone() -> tzinfo:
    """The zone of the site's calendar: `TIME_ZONE`, whatever zone the reader has."""
    return timezone.get_default_timezone()


def start_of(day: date) -> datetime:
    """The site's midnight with which a day begins."""
    return datetime(day.year, day.month, day.day, tzinfo=site_zone())


def site_now() -> datetime:
    """The present instant by the site's clock: periods that are made from it begin at the site's midnight."""
    return timezone.localtime(timezone=site_zone())


def days_of(parts: Iterable[Part], period: Period) -> Days:
    """The sums of these parts for every day of a period: three queries for each part, and no part overlaps another."""
    days: dict[date, RunSums] = {}
    for part in parts:
        for day, sums in _days_of_part(part, *first_and_last(period)):
            if day in days:
                add_sums(days[day], sums)
            else:
                days[day] = sums
    return Days(days)


def days_by_project(projects: Collection[int], period: Period) -> dict[int, Days]:
    """The sums of each of these projects, as of its PI, for every day of a period: three queries for all of them."""
    first, last = first_and_last(period)
    due = set(RollUpDue.objects.filter(project__in=projects, day__range=(first, last)).values_list("project_id", "day"))
    found: dict[int, dict[date, RunSums]] = {project: {} for project in projects}
    stored = ProjectDay.objects.filter(project__in=projects, day__range=(first, last))
    for project, day, packed in stored.order_by().values_list("project_id", "day", "sums"):
        if (project, day) not in due:
            found[project][day] = unpacked(packed)
    if due:
        runs = judged_runs(BY_SITE & Q(project__in=projects), sorted({day for _, day in due}))
        for project, *columns in runs.values_list("project_id", *READ):
            run = JudgedRun._make(columns)
            day = run.ended_at.astimezone(site_zone()).date()
            if (project, day) in due:
                add_run(found[project].setdefault(day, RunSums()), run, site_zone())
    return {project: Days(days) for project, days in found.items()}


def _days_of_part(part: Part, first: date, last: date) -> Iterable[tuple[date, RunSums]]:
    due = due_days(part, first, last)
    stored = _stored(part).filter(day__range=(first, last)).exclude(day__in=due)
    for day, packed in stored.order_by().values_list("day", "sums"):
        yield day, unpacked(packed)
    if due:
        runs = judged_runs(part.judged, due).values_list(*READ)
        yield from sums_by_day(map(JudgedRun._make, runs), site_zone()).items()


def due_days(part: Part, first: date, last: date) -> list[date]:
    """The days from first to last whose judgements changed since they were rolled up."""
    rows = RollUpDue.objects.filter(part.due, day__range=(first, last))
    return sorted(set(rows.order_by().values_list("day", flat=True).distinct()))


def _stored(part: Part) -> QuerySet[DaySums]:
    if part.work_key is not None:
        return WorkDay.objects.filter(part.rows, work_key=part.work_key)
    if part.user is None and part.by_site:
        return ProjectDay.objects.filter(project=part.project)
    return PersonDay.objects.filter(part.rows)


def unpacked(packed: bytes | memoryview) -> RunSums:
    """Sums as they are stored."""
    return msgspec.msgpack.decode(packed, type=RunSums)


def judged_on(part: Q, days: Sequence[date]) -> QuerySet[JobEfficiency]:
    """The judgements of runs that ended on these days of the site, in no order."""
    ended_in = (Q(ended_at__gte=start_of(first), ended_at__lt=start_of(last + DAY)) for first, last in _stretches(days))
    return JobEfficiency.objects.filter(part, reduce(or_, ended_in))


def judged_runs(part: Q, days: Sequence[date]) -> QuerySet[JobEfficiency]:
    """The same, each with the class under which it is counted."""
    return judged_on(part, days).annotate(counted_class=COUNTED_CLASS)


def _stretches(days: Sequence[date]) -> list[tuple[date, date]]:
    """Sorted days as first and last days of stretches without a gap.

    >>> _stretches([date(2026, 11, 1), date(2026, 11, 2), date(2026, 11, 9)])
    [(datetime.date(2026, 11, 1), datetime.date(2026, 11, 2)), (datetime.date(2026, 11, 9), datetime.date(2026, 11, 9))]
    """
    found: list[tuple[date, date]] = []
    for day in days:
        if found and found[-1][1] + DAY == day:
            found[-1] = found[-1][0], day
        else:
            found.append((day, day))
    return found


@dataclass
class GroupSums:
    """The counted runs of one member or work by `SCALARS`; `latest_job` is the greatest key of a run, 0 for none."""

    jobs: int = 0
    gpu_hours: float = 0.0
    wasted_gpu_hours: float = 0.0
    saved_gpu_hours: float = 0.0
    measured_gpu_hours: float = 0.0
    used_gpu_hours: float = 0.0
    latest_job: int = 0

    @property
    def mean_util(self) -> float | None:
        """Use in percent weighted by GPU-hours; None where nothing was measured."""
        return self.used_gpu_hours / self.measured_gpu_hours * 100 if self.measured_gpu_hours else None

    def add(self, sums: Sequence[float | None], latest_job: int) -> None:
        """Add the sums of the same group over other days, in the order of `SCALARS`."""
        for name, value in zip(SCALARS, sums, strict=True):
            setattr(self, name, getattr(self, name) + (value or 0))
        self.latest_job = max(self.latest_job, latest_job)


def sums_by_member(part: Part, period: Period) -> dict[int, GroupSums]:
    """The counted runs of a part by the key of their owner: at most three queries."""
    days = PersonDay.objects.values_list("user_id", Value(0))
    return _grouped(part, period, days, lambda runs: runs.values_list("user_id", Value(0)))


def sums_by_project(projects: QuerySet[Project], period: Period) -> dict[int, GroupSums]:
    """The counted runs with a record from Slurm by the key of their project: at most three queries."""
    days = PersonDay.objects.values_list("project_id", Value(0))
    part = Part(within=projects.order_by().values("pk"), by_site=True)
    return _grouped(part, period, days, lambda runs: runs.values_list("project_id", Value(0)))


def sums_by_work(part: Part, period: Period) -> dict[str, GroupSums]:
    """The same by work key; runs that nothing names are added up as one, with an empty key."""
    days = WorkDay.objects.values_list("work_key").annotate(Max("latest_job"))
    return _grouped(part, period, days, lambda runs: runs.values_list("work_key").annotate(Max("job_id")))


def _grouped(
    part: Part, period: Period, days: QuerySet[Any, Any], grouped: Callable[[QuerySet[Any]], QuerySet[Any, Any]]
) -> dict[Any, GroupSums]:
    """By group, of rows of (group, latest run, ...): `days` are the stored sums, `grouped` groups judgements."""
    first, last = first_and_last(period)
    due = due_days(part, first, last)
    stored = days.filter(part.rows, day__range=(first, last), jobs__gt=0).exclude(day__in=due)
    rows = list(stored.annotate(**STORED_SUMS).order_by())
    if due:
        rows += grouped(judged_on(part.judged, due).filter(uncounted_reason="")).annotate(**JUDGED_SUMS).order_by()
    found: dict[Any, GroupSums] = defaultdict(GroupSums)
    for group, latest_job, *sums in rows:
        found[group].add(sums, latest_job)
    return found
