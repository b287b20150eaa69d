"""Reading runs for sums: whose they are comes from `jobs.selectors`, as conditions on `user` and `project`.

Every function costs a fixed number of queries, whatever the number of runs.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from django.db.models import Case, CharField, Count, F, Max, OuterRef, Q, QuerySet, Subquery, Sum, TextField, When
from django.db.models.functions import Cast

from analysis.efficiency import LOW
from analysis.findings import Finding, FindingCode
from analysis.history.costs import CostlyCause, FirstCause, costly_causes
from analysis.history.open_savings import OpenSavings, StatedRun, open_savings
from analysis.history.periods import Period
from analysis.history.run_sums import Days
from analysis.history.sums import trend_period
from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from analysis.rollups.selectors import GroupSums, Part, days_of, sums_by_member, sums_by_work
from analysis.thresholds import RULES_VERSION
from analysis.works.patterns import WithoutUse
from jobs.models import Job, Project, User
from jobs.sbatch import Shape

CAUSES_LOOKED_AT_MAX = 2000
"""The latest runs whose causes are added up: enough for a month of a person, with a limit for automation."""

SAVINGS_LOOKED_AT_MAX = 10_000
"""The latest counted runs that are looked at for savings: a job every four minutes of a month, with a limit for
automation."""
SHAPES_KEPT = 1024
JUDGED_COLUMNS = ("job_id", "pk", "ended_at", "allocated_gpus", "saved_gpu_hours", "avg_gpu_util", "finding_codes")
ENDED, SAVED = JUDGED_COLUMNS.index("ended_at"), JUDGED_COLUMNS.index("saved_gpu_hours")
OF_SHAPE = ("node_count", "cpus_allocated", "memory_requested_gb", "walltime_requested_s", "partition")
NO_GPU_USE = FindingCode.NO_GPU_USE.value
LEFT = "no longer a member"


# Runs that nothing names are each a work of its own.
WORK = Case(When(work_key="", then=Cast("job_id", CharField())), default=F("work_key"), output_field=CharField())


@dataclass(frozen=True)
class WorkSums:
    """The counted runs of one work, by its key; hours are None where no price is known."""

    key: str
    jobs: int
    gpu_hours: float | None
    wasted_gpu_hours: float | None
    saved_gpu_hours: float | None
    latest_pk: int


@dataclass(frozen=True)
class Member:
    """One member of a project, present or former, and the counted runs of a period."""

    pk: int
    username: str
    role: str
    jobs: int
    gpu_hours: float
    wasted_gpu_hours: float
    mean_util: float | None


def days_and_trend(parts: Iterable[Part], period: Period) -> Days:
    """The sums of every day of a period, and of those that a trend needs in addition."""
    start = min(period.start, trend_period(period.end).start)
    return days_of(parts, Period(start, period.end))


def judged(part: Q, since: datetime, until: datetime) -> QuerySet[JobEfficiency]:
    """The judgements of runs that ended in this time, in no order."""
    return JobEfficiency.objects.filter(part, ended_at__gte=since, ended_at__lt=until)


def listed(part: Q, period: Period) -> QuerySet[Job]:
    """The runs that ended in a period, judged or not, in no order."""
    return Job.objects.filter(part, ended_at__gte=period.start, ended_at__lt=period.end)


def listed_by_user(part: Q, period: Period) -> dict[int, int]:
    """How many runs of each owner, by key, a list of jobs of a period shows, judged or not: one query."""
    return dict(listed(part, period).values_list("user_id").annotate(Count("pk")).order_by())


def told_by_owners(whose: Sequence[Q], period: Period) -> int:
    """How many judged runs of a period only their owners reported: sums over several people leave them out."""
    return sum(judged(part, period.start, period.end).filter(is_told_by_owner=True).count() for part in whose)


def savings_of_works(
    part: Q, period: Period, runs_max: int = SAVINGS_LOOKED_AT_MAX, works: Collection[str] | None = None
) -> OpenSavings:
    """What the advice on the runs of the period would save and no later run has changed, by work: three queries.

    Of the latest `runs_max` counted runs, of these works alone if any are named.

    Each table is read by its own keys: joined, the database would read the names of the works of all runs of a site.
    """
    counted = judged(part, period.start, period.end).filter(uncounted_reason="").order_by("-ended_at", "-job_id")
    if works is not None:
        counted = counted.filter(work_key__in=works)
    rows = {row[0]: row for row in counted.values_list(*JUDGED_COLUMNS)[:runs_max]}
    since = min((row[ENDED] for row in rows.values()), default=period.end)
    ended = listed(part, Period(since, period.end))
    ended = ended if works is None else ended.filter(work_key__in=works)
    runs = ended.values_list("pk", "work_key", "state", *OF_SHAPE)
    # A run may go between two queries. One that nothing names is a work of its own.
    jobs = {pk: (work_key or str(pk), state, columns) for pk, work_key, state, *columns in runs}
    saving = {jobs[pk][0] for pk, row in rows.items() if pk in jobs and (row[SAVED] or 0.0) > 0}
    kept = {pk: row for pk, row in rows.items() if pk in jobs and jobs[pk][0] in saving}
    advised = RecommendationRow.objects.filter(efficiency__in=[row[1] for row in kept.values()])
    wanted = advised.exclude(kind="walltime").annotate(shape=Cast("wanted", TextField())).order_by("-position")
    advice = {pk: (kind, _wanted(shape)) for pk, kind, shape in wanted.values_list("efficiency", "kind", "shape")}
    return open_savings(_stated_run(row, *jobs[pk], advice.get(row[1])) for pk, row in kept.items())


def _stated_run(
    row: Sequence[Any], work: str, state: str, columns: Sequence[Any], advice: tuple[str, Shape] | None
) -> StatedRun:
    pk, _, ended_at, gpus, saved_gpu_hours, use, codes = row
    return StatedRun(
        work,
        pk,
        ended_at,
        _allocated(gpus, *columns),
        saved_gpu_hours,
        advice,
        is_success=state == "COMPLETED" and use is not None,
        has_gpu_use=NO_GPU_USE not in codes.split(),
    )


@lru_cache(maxsize=SHAPES_KEPT)
def _allocated(*columns: Any) -> Shape:
    """What a run was allocated, of its GPUs and `OF_SHAPE`; the same for most runs of a work."""
    gpus, nodes, cores, memory_gb, walltime_s, partition = columns
    return Shape(nodes or 1, gpus, None, cores, memory_gb, walltime_s, partition)


@lru_cache(maxsize=SHAPES_KEPT)
def _wanted(stored: str) -> Shape:
    return msgspec.json.decode(stored, type=Shape)


def costly_causes_in(part: Q, period: Period, limit: int) -> list[CostlyCause]:
    """What cost most in the counted runs of a period whose request fits: two queries. The others have advice.

    Only what the present rules found is ranked: the evidence of earlier ones may hold other numbers. What the latest
    counted run of a work no longer has was fixed already, and low use without a clear cause names nothing to fix: both
    are left out.
    """
    counted = judged(part, period.start, period.end).filter(uncounted_reason="")
    fitting = counted.filter(rules_version=RULES_VERSION, saved_gpu_hours__isnull=True, gpu_hours__isnull=False)
    named = FindingRow.objects.filter(position=0, efficiency__in=fitting).exclude(code=FindingCode.LOW_USE_UNEXPLAINED)
    rows = named.order_by("-efficiency__ended_at", "-pk")
    run = {"hours": F("efficiency__gpu_hours"), "run": F("efficiency__job_id"), "at": F("efficiency__ended_at")}
    run["unused"] = F("efficiency__wasted_gpu_hours")
    latest: Any = rows.values("code", "confidence", "evidence", key=F("efficiency__work_key"), **run)
    found = costly_causes(
        FirstCause(
            msgspec.convert(row, Finding),
            row["key"] or str(row["run"]),
            row["hours"],
            row["run"],
            row["at"],
            row["unused"],
        )
        for row in latest[:CAUSES_LOOKED_AT_MAX]
    )
    of_works = counted.annotate(work=WORK).filter(work__in={cause.work for cause in found})
    ends = dict(of_works.values_list("work").annotate(Max("ended_at")))
    return [cause for cause in found if ends.get(cause.work) == cause.latest_at][:limit]


@dataclass(frozen=True)
class UnusedWork(WithoutUse):
    """The counted runs of one work that used no GPU; `latest_pk` is the latest of them."""

    work: str
    latest_pk: int


def works_without_gpu_use(part: Q, period: Period, works: Collection[str] | None = None) -> list[UnusedWork]:
    """The works with runs that used no GPU at all, most GPU-hours first: two queries."""
    counted = judged(part, period.start, period.end).filter(uncounted_reason="").annotate(work=WORK).order_by()
    if works is not None:
        counted = counted.filter(job__work_key__in=works)
    idle = counted.filter(finding_codes__contains=f" {NO_GPU_USE} ")
    sums = idle.values_list("work").annotate(Count("pk"), Sum("gpu_hours"), Max("ended_at"), Max("job_id"))
    found = {work: row for work, *row in sums}
    all_runs = counted.filter(work__in=found).values_list("work").annotate(Count("pk"), Max("ended_at"))
    of = {work: row for work, *row in all_runs}
    shown = [
        UnusedWork(runs, of[work][0], hours or 0.0, of[work][1] > last_at, work, pk)
        for work, (runs, hours, last_at, pk) in found.items()
        if work in of
    ]
    return sorted(shown, key=lambda each: (-each.gpu_hours, each.work))


def works_of(part: Part, period: Period, limit: int) -> list[WorkSums]:
    """The works with the most unused GPU-hours among the counted runs of a period.

    Runs that nothing names are added up as one, with an empty key.
    """
    works = [
        WorkSums(
            key,
            sums.jobs,
            sums.gpu_hours or None,
            sums.wasted_gpu_hours if sums.measured_gpu_hours else None,
            sums.saved_gpu_hours or None,
            sums.latest_job,
        )
        for key, sums in sums_by_work(part, period).items()
    ]
    return sorted(works, key=lambda work: (-(work.wasted_gpu_hours or -1.0), work.key))[:limit]


def worst_run(part: Q, since: datetime, until: datetime) -> JobEfficiency | None:
    """The counted run of a low class with the most unused GPU-hours of those that ended in this time: one query."""
    runs = judged(part, since, until).filter(uncounted_reason="", wasted_gpu_hours__gt=0, efficiency_class__in=LOW)
    return runs.select_related("job").order_by("-wasted_gpu_hours", "-ended_at").first()


def advised_gpus() -> Subquery:
    """The number of GPUs that the report of each run advises; None for no such advice."""
    gpus_advice = RecommendationRow.objects.filter(efficiency__job=OuterRef("pk"), kind="gpus")
    return Subquery(gpus_advice.values("recommended_gpus")[:1])


def members_of(project: Project, period: Period) -> list[Member]:
    """Every member, most GPU-hours first. Former members are listed while their runs are."""
    roles = {
        row.user_id: (row.user.username, row.get_role_display()) for row in project.memberships.select_related("user")
    }
    sums = sums_by_member(Part(project=project.pk, by_site=True), period)
    left = User.objects.filter(pk__in=sums.keys() - roles.keys()).values_list("pk", "username")
    known = roles | {pk: (username, LEFT) for pk, username in left}
    members = [_member(pk, *known[pk], sums.get(pk, GroupSums())) for pk in known]
    return sorted(members, key=lambda member: (-member.gpu_hours, member.username))


def _member(pk: int, username: str, role: str, sums: GroupSums) -> Member:
    return Member(pk, username, role, sums.jobs, sums.gpu_hours, sums.wasted_gpu_hours, sums.mean_util)
