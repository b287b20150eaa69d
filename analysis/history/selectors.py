"""Adding up runs in the database: pass what `visible_jobs` returned, get values; uncounted runs are left out.

Every function costs a fixed number of queries, whatever the number of runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, F, FloatField, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, ExtractHour, ExtractIsoWeekDay, Round, Trunc

from analysis.history.overview import Followed, Overview, Sums, WorkRun, followed, overview
from analysis.history.periods import Period
from analysis.history.trend import Trend, median_of_counts, trend
from analysis.models import FindingRow, RecommendationRow
from jobs.models import Job, Project

FOLLOW_DAYS = 180
FOLLOW_RUNS_MAX = 2000
"""The latest runs of advised work that are compared; enough for a month of anyone's, and bounded for a robot's."""

LEFT = "No longer a member"
TREND_WEEKS = 12
SAVED = Cast(KeyTextTransform("gpu_hours", "efficiency__savings"), FloatField())


@dataclass(frozen=True)
class Step:
    """One day or week: GPU-hours by class, those wasted, and the median use to a whole percent."""

    start: datetime
    jobs: int
    hours_by_class: Mapping[str, float]
    wasted_gpu_hours: float
    median_util: float | None


@dataclass(frozen=True)
class FrequentFinding:
    """How many counted runs a finding held for, the wasted hours of those, and its runs in each step of a period."""

    code: str
    jobs: int
    wasted_gpu_hours: float
    by_step: Mapping[datetime, int]


@dataclass(frozen=True)
class BestAdvice:
    """The advice of one kind and basis: how often it was given, what it would have saved, and where last."""

    kind: str
    basis: str
    jobs: int
    potential_gpu_hours: float
    latest_pk: int


@dataclass(frozen=True)
class Member:
    """One member of a project and the counted runs of a period; `mean_util` is weighted by GPU-hours."""

    username: str
    role: str
    jobs: int = 0
    gpu_hours: float = 0.0
    wasted_gpu_hours: float = 0.0
    mean_util: float | None = None


def judged_in(runs: QuerySet[Job], period: Period) -> QuerySet[Job]:
    """The judged runs that ended in the period, in no order."""
    return runs.filter(ended_at__gte=period.start, ended_at__lt=period.end, efficiency__isnull=False).order_by()


def counted_in(runs: QuerySet[Job], period: Period) -> QuerySet[Job]:
    """Those of them that count in statistics."""
    return judged_in(runs, period).filter(efficiency__uncounted_reason="")


def overview_of(runs: QuerySet[Job], period: Period) -> Overview:
    """Classes, hours, waste, potential and median of a period: three queries."""
    counted = counted_in(runs, period)
    sums = [
        Sums(name, jobs, hours or 0.0, wasted or 0.0, saved or 0.0)
        for name, jobs, hours, wasted, saved in counted.values_list("efficiency__efficiency_class").annotate(
            Count("pk"), Sum("efficiency__gpu_hours"), Sum("efficiency__wasted_gpu_hours"), saved=Sum(SAVED)
        )
    ]
    uncounted = judged_in(runs, period).exclude(efficiency__uncounted_reason="").count()
    return overview(sums, uncounted, _median(counted, sum(row.jobs for row in sums if row.name != "UNKNOWN")))


def _median(counted: QuerySet[Job], measured: int) -> float | None:
    """The lower median of the mean GPU use of the measured runs."""
    used = counted.filter(efficiency__avg_gpu_util__isnull=False).order_by("efficiency__avg_gpu_util")
    place = max(measured - 1, 0) // 2
    return next(iter(used.values_list("efficiency__avg_gpu_util", flat=True)[place : place + 1]), None)


def steps_of(runs: QuerySet[Job], period: Period) -> tuple[Step, ...]:
    """The period step by step, empty steps too: two queries."""
    counted = counted_in(runs, period).annotate(step=Trunc("ended_at", period.step, tzinfo=period.start.tzinfo))
    hours: dict[datetime, dict[str, float]] = defaultdict(dict)
    jobs: dict[datetime, int] = defaultdict(int)
    wasted: dict[datetime, float] = defaultdict(float)
    for step, name, count, used, lost in counted.values_list("step", "efficiency__efficiency_class").annotate(
        Count("pk"), Sum("efficiency__gpu_hours"), Sum("efficiency__wasted_gpu_hours")
    ):
        hours[step][name] = used or 0.0
        jobs[step] += count
        wasted[step] += lost or 0.0
    medians = _medians(counted)
    return tuple(Step(step, jobs[step], hours[step], wasted[step], medians.get(step)) for step in period.steps())


def _medians(counted: QuerySet[Job]) -> dict[datetime, float | None]:
    uses: dict[datetime, dict[float, int]] = defaultdict(dict)
    measured = counted.filter(efficiency__avg_gpu_util__isnull=False)
    rounded = measured.annotate(use=Round("efficiency__avg_gpu_util"))
    for step, use, count in rounded.values_list("step", "use").annotate(Count("pk")):
        uses[step][use] = count
    return {step: median_of_counts(counts) for step, counts in uses.items()}


def trend_of(runs: QuerySet[Job], now: datetime) -> Trend:
    """The trend of the last weeks: one query."""
    period = Period(now - timedelta(weeks=TREND_WEEKS), now)
    counted = counted_in(runs, period).annotate(step=Trunc("ended_at", "week", tzinfo=now.tzinfo))
    by_week: dict[datetime, dict[float, int]] = defaultdict(dict)
    rounded = counted.filter(efficiency__avg_gpu_util__isnull=False).annotate(use=Round("efficiency__avg_gpu_util"))
    for step, use, count in rounded.values_list("step", "use").annotate(Count("pk")):
        by_week[step][use] = count
    jobs = sum(sum(uses.values()) for uses in by_week.values())
    return trend([median_of_counts(by_week[step]) if step in by_week else None for step in period.steps()], jobs)


def frequent_findings(runs: QuerySet[Job], period: Period) -> list[FrequentFinding]:
    """The findings of a period, most wasted hours first: one query."""
    rows = FindingRow.objects.filter(efficiency__job__in=counted_in(runs, period)).order_by()
    found: dict[str, dict[datetime, int]] = defaultdict(dict)
    wasted: dict[str, float] = defaultdict(float)
    stepped = rows.annotate(step=Trunc("efficiency__job__ended_at", period.step, tzinfo=period.start.tzinfo))
    for code, step, count, lost in stepped.values_list("code", "step").annotate(
        Count("pk"), Sum("efficiency__wasted_gpu_hours")
    ):
        found[code][step] = count
        wasted[code] += lost or 0.0
    return sorted(
        (FrequentFinding(code, sum(steps.values()), wasted[code], steps) for code, steps in found.items()),
        key=lambda row: (-row.wasted_gpu_hours, -row.jobs, row.code),
    )


def use_by_weekday(runs: QuerySet[Job], period: Period) -> dict[tuple[int, int], tuple[int, float]]:
    """(weekday 1..7, hour 0..23) of the start -> (measured runs, sum of their mean use in percent): one query."""
    zone = period.start.tzinfo
    measured = counted_in(runs, period).filter(started_at__isnull=False, efficiency__avg_gpu_util__isnull=False)
    rows = measured.annotate(
        weekday=ExtractIsoWeekDay("started_at", tzinfo=zone), hour=ExtractHour("started_at", tzinfo=zone)
    ).values_list("weekday", "hour")
    summed = rows.annotate(Count("pk"), Sum("efficiency__avg_gpu_util"))
    return {(weekday, hour): (count, total) for weekday, hour, count, total in summed}


def best_advice(runs: QuerySet[Job], period: Period, limit: int) -> list[BestAdvice]:
    """The advice that would have saved most in the period: one query. Savings belong to the first advice of a run."""
    rows = RecommendationRow.objects.filter(efficiency__job__in=counted_in(runs, period)).exclude(kind="walltime")
    saved = Cast(KeyTextTransform("gpu_hours", "efficiency__savings"), FloatField())
    summed = (
        rows.filter(efficiency__savings__isnull=False)
        .order_by()
        .values_list("kind", "basis")
        .annotate(Count("pk"), total=Sum(saved), latest=Max("efficiency__job_id"))
    )
    return [BestAdvice(*row) for row in summed.filter(total__gt=0).order_by("-total", "kind", "basis")[:limit]]


def followed_in(runs: QuerySet[Job], period: Period) -> Followed:
    """What following advice on GPUs saved in the period: one query, over the latest runs of keyed work."""
    looked_at = Period(period.start - timedelta(days=FOLLOW_DAYS), period.end)
    keyed = (
        counted_in(runs, looked_at)
        .exclude(script_key="")
        .filter(efficiency__gpu_hours__isnull=False, gpus_allocated__gt=0, state="COMPLETED")
    )
    gpus_advice = RecommendationRow.objects.filter(efficiency__job=OuterRef("pk"), kind="gpus")
    advised = Subquery(gpus_advice.values("recommended_gpus")[:1])
    columns = ("user_id", "project_id", "cluster", "script_key", "ended_at", "gpus_allocated")
    rows = keyed.annotate(hours=F("efficiency__gpu_hours"), advised=advised).order_by("-ended_at")
    latest = rows.values_list(*columns, "hours", "advised")[:FOLLOW_RUNS_MAX]
    return followed([WorkRun(row[:4], *row[4:]) for row in latest], period.start)


def members_of(project: Project, runs: QuerySet[Job], period: Period) -> list[Member]:
    """Every member, most GPU-hours first: two queries. Whoever left the project is listed while runs are."""
    roles = {row.user.username: row.get_role_display() for row in project.memberships.select_related("user")}
    used = F("efficiency__gpu_hours")
    summed = (
        counted_in(runs, period)
        .values_list("user__username")
        .annotate(
            Count("pk"),
            Sum("efficiency__gpu_hours"),
            Sum("efficiency__wasted_gpu_hours"),
            measured=Sum("efficiency__gpu_hours", filter=Q(efficiency__avg_gpu_util__isnull=False)),
            weighted=Sum(F("efficiency__avg_gpu_util") * used),
        )
    )
    found = {
        name: Member(
            name, roles.get(name, "no longer a member"), jobs, hours or 0.0, wasted or 0.0, _mean(weighted, measured)
        )
        for name, jobs, hours, wasted, measured, weighted in summed
    }
    idle = [Member(name, role) for name, role in roles.items() if name not in found]
    return sorted([*found.values(), *idle], key=lambda member: (-member.gpu_hours, member.username))


def _mean(weighted: float | None, weight: float | None) -> float | None:
    return weighted / weight if weighted is not None and weight else None
