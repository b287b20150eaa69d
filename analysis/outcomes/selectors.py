"""Reading what became of advice; whose it is the caller has decided."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Count, Exists, F, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from analysis.comparable import known_sum
from analysis.history.periods import Period
from analysis.history.run_sums import DAY, first_and_last
from analysis.models import RecommendationRow
from analysis.months.selectors import figures_of, latest_figures, months_with
from analysis.outcomes.following import Advice, AdvisedRun, Status
from analysis.outcomes.models import TO_CPUS, AdviceDay, AdviceDue, AdviceOutcome
from analysis.outcomes.quality import Given, RuleFigures
from analysis.rollups.selectors import site_zone, start_of
from analysis.thresholds import LIMITS
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.sbatch import Shape
from jobs.selectors import BY_SITE, Reach
from wire.work_names import TRIAL_MARK

RUNS_MAX = 2000
"""The latest runs of a work that advice is compared with: what became of older advice stays as it was determined."""

SETTLED_AFTER = timedelta(days=31)
"""The advice of a month is added up this long after its end: until then later runs may follow it."""

SHAPE_COLUMNS = (
    *("node_count", "gpus_allocated", "cpus_allocated"),
    *("memory_requested_gb", "walltime_requested_s", "partition"),
)
RUN_COLUMNS = (
    *("pk", "submitted_at", "started_at", "ended_at", "state", "walltime_used_s", "project_id", *SHAPE_COLUMNS),
    *("efficiency__gpu_hours", "efficiency__avg_gpu_util", "efficiency__uncounted_reason"),
    *("efficiency__finding_codes", "efficiency__analysed_at", "efficiency__saved_gpu_hours"),
)
GIVEN_COLUMNS = tuple(each.name for each in fields(Given))

OUTCOMES_SHOWN = 10

COUNTED_MAX = 1000
"""The latest pieces of advice whose outcomes operators watch."""


def works_to_settle(users: Collection[int]) -> set[tuple[int, str]]:
    """The works of these people, by person and key, with a judgement whose predictions are not yet compared."""
    return set(AdviceDue.objects.filter(user__in=users).values_list("user_id", "work_key"))


@dataclass(frozen=True)
class WorkRuns:
    """The runs of one work; `bases` is the basis and `projects` the project of each run's advice, by run and kind."""

    runs: list[AdvisedRun]
    bases: Mapping[tuple[int, str], str]
    projects: Mapping[int, int]


def runs_of_work(user_pk: int, work_key: str, given_at: Mapping[tuple[int, str], datetime]) -> WorkRuns:
    """The latest runs of one work with a record from Slurm: two queries.

    `given_at` is when advice was given first, by run and kind; what is not in it was given when the run was judged.
    """
    rows = list(
        Job.objects.filter(
            BY_SITE,
            Q(efficiency__isnull=False) | Q(gpus_allocated=0),
            user=user_pk,
            work_key=work_key,
            state__in=ENDED_STATES,
            started_at__isnull=False,
            ended_at__isnull=False,
            gpus_allocated__isnull=False,
        )
        .exclude(job_name__contains=TRIAL_MARK)
        .order_by("-ended_at", "-pk")
        .values(*RUN_COLUMNS)[:RUNS_MAX]
    )
    by_run = {row["pk"]: row for row in rows}
    advice: dict[int, list[Advice]] = {}
    bases = {}
    given = RecommendationRow.objects.filter(efficiency__job__in=by_run).order_by()
    for pk, kind, basis, wanted in given.values_list("efficiency__job", "kind", "basis", "wanted"):
        row = by_run[pk]
        claimed = None if kind == "walltime" else row["efficiency__saved_gpu_hours"]
        at = given_at.get((pk, kind), row["efficiency__analysed_at"])
        advice.setdefault(pk, []).append(Advice(kind, msgspec.convert(wanted, Shape), at, claimed))
        bases[pk, kind] = basis
    runs = [_advised_run(row, tuple(advice.get(pk, ()))) for pk, row in by_run.items()]
    return WorkRuns(runs, bases, {pk: row["project_id"] for pk, row in by_run.items()})


def _shape(columns: Iterable[Any]) -> Shape:
    nodes, gpus, cores, memory_gb, walltime_s, partition = columns
    return Shape(nodes or 1, gpus or 0, None, cores, memory_gb, walltime_s, partition)


def shape_of_run(job: Job) -> Shape:
    """What a run was allocated, as advice is compared with it."""
    return _shape(getattr(job, name) for name in SHAPE_COLUMNS)


def _advised_run(row: Mapping[str, Any], advice: tuple[Advice, ...]) -> AdvisedRun:
    is_judged = row["efficiency__analysed_at"] is not None
    is_short = (row["walltime_used_s"] or 0.0) < LIMITS.short_job_s
    return AdvisedRun(
        pk=row["pk"],
        submitted_at=row["submitted_at"] or row["started_at"],
        ended_at=row["ended_at"],
        state=row["state"],
        shape=_shape(row[name] for name in SHAPE_COLUMNS),
        run_s=row["walltime_used_s"],
        # Without a GPU nothing is billed in GPU-hours, and nothing is judged.
        gpu_hours=row["efficiency__gpu_hours"] if is_judged else 0.0,
        util_percent=row["efficiency__avg_gpu_util"],
        uncounted=row["efficiency__uncounted_reason"] if is_judged else "short" if is_short else "",
        codes=row["efficiency__finding_codes"] or "",
        advice=advice,
    )


def works_moved_to_cpus() -> list[tuple[int, str]]:
    """(Person, work key) of the works whose advice to leave the GPUs is open and that have a run without GPUs since."""
    on_cpus = Job.objects.filter(
        BY_SITE,
        work_key=OuterRef("work_key"),
        user=OuterRef("user"),
        gpus_allocated=0,
        state="COMPLETED",
        walltime_used_s__gte=LIMITS.short_job_s,
        started_at__isnull=False,
        submitted_at__gte=OuterRef("given_at"),
    )
    is_open = AdviceOutcome.objects.filter(status=Status.OPEN, basis=TO_CPUS)
    return list(is_open.filter(Exists(on_cpus)).values_list("user_id", "work_key").order_by().distinct())


@dataclass(frozen=True)
class SavedSum:
    """What following advice saved one person or project: below zero where it cost more. `since` is None without any.

    Each of the `runs` counts once, however much advice it followed, in full or in part. The hours are of
    `compared_runs` alone: without any they are not known.
    """

    runs: int = 0
    compared_runs: int = 0
    saved_gpu_hours: float = 0.0
    since: datetime | None = None

    @property
    def other_runs(self) -> int:
        """The runs that cannot be compared with the one whose advice they followed."""
        return self.runs - self.compared_runs


def saved_by(*parts: Q) -> SavedSum:
    """What the runs that followed advice were billed less, over everything that is stored: one query for each part.

    Parts are those of `jobs.selectors.Reach`: they do not overlap, and one index finds each.
    """
    return _saved(AdviceDay.objects.filter(part, runs__gt=0) for part in parts)


def saved_in(part: Q, period: Period) -> SavedSum:
    """The same of the advice that was given in a period: one query."""
    given = AdviceDay.objects.filter(part, day__range=first_and_last(period))
    return _saved([given.filter(runs__gt=0)])


def saved_by_work(user_pk: int, work_key: str) -> SavedSum:
    """The same of one work, as far as its runs are stored: one query."""
    return _saved([AdviceOutcome.objects.filter(user=user_pk, work_key=work_key, following_runs__gt=0)])


def given_and_followed(user_pk: int, works: Collection[str] | None = None) -> tuple[int, int]:
    """How many pieces of advice a person was given that were not only repeated, and how many they followed in full.

    Over everything that is stored, or on these works alone: one query.
    """
    rows = AdviceOutcome.objects.filter(user=user_pk).exclude(status=Status.REPEATED)
    rows = rows if works is None else rows.filter(work_key__in=works)
    found = rows.aggregate(given=Count("pk"), followed=Count("pk", filter=Q(status=Status.FOLLOWED)))
    return found["given"], found["followed"]


def _saved(parts: Iterable[QuerySet[Any]]) -> SavedSum:
    runs, compared_runs, saved_gpu_hours, since = 0, 0, 0.0, []
    for followed in parts:
        row = followed.aggregate(*(Sum(name, default=0) for name in CREDITED), since=Min("first_at"))
        runs, compared_runs = runs + row["credited_runs__sum"], compared_runs + row["credited_compared_runs__sum"]
        saved_gpu_hours += row["credited_gpu_hours__sum"]
        since += [row["since"]] if row["since"] else []
    return SavedSum(runs, compared_runs, saved_gpu_hours, min(since, default=None))


@dataclass(frozen=True)
class KindSums:
    """The advice of one kind: how much of it was given, had a later run, and was followed in full or in part.

    The hours are of `compared_runs` alone.
    """

    kind: str
    given: int
    answered: int
    followed: int
    partly: int
    runs: int
    failed_runs: int
    compared_runs: int
    claimed_gpu_hours: float | None
    realised_gpu_hours: float | None


OF_OUTCOMES: dict[str, Any] = {
    "given": Count("pk"),
    "answered": Count("pk", filter=Q(later_runs__gt=0)),
    "followed": Count("pk", filter=Q(status=Status.FOLLOWED)),
    "partly": Count("pk", filter=Q(status=Status.PARTLY)),
    "runs": Sum("following_runs"),
    "failed": Sum("failed_runs"),
    "compared": Sum("compared_runs"),
    "claimed": Sum(F("claimed_gpu_hours") * F("compared_runs"), filter=Q(compared_runs__gt=0)),
    "realised": Sum("realised_gpu_hours"),
}
OF_DAYS = tuple(each.name for each in fields(KindSums) if each.name != "kind")
"""The columns of `AdviceDay` that `OF_OUTCOMES` adds up, in the same order."""

CREDITED = ("credited_runs", "credited_compared_runs", "credited_gpu_hours")
"""The columns of both tables that count each run once."""


def sums_by_kind(parts: Iterable[Q], period: Period) -> list[KindSums]:
    """What became of the advice that was given in a period, kind by kind, the most often given first.

    One query for each part, which do not overlap.
    """
    found: dict[str, list[Any]] = {}
    for part in parts:
        rows = AdviceDay.objects.filter(part, day__range=first_and_last(period)).values_list("kind").order_by()
        for kind, *sums in rows.annotate(*(Sum(name) for name in OF_DAYS)):
            before = found.get(kind)
            found[kind] = sums if before is None else [known_sum(pair) for pair in zip(before, sums, strict=True)]
    return sorted((KindSums(kind, *sums) for kind, sums in found.items()), key=lambda row: (-row.given, row.kind))


def days_of_advice(user_pk: int, days: Sequence[date]) -> list[AdviceDay]:
    """What the outcomes of one person's advice of these days add up to, not stored: one query."""
    start, end = start_of(min(days)), start_of(max(days) + DAY)
    rows = AdviceOutcome.objects.filter(user=user_pk, given_at__gte=start, given_at__lt=end)
    by_day = rows.annotate(day=TruncDate("given_at", tzinfo=site_zone())).filter(day__in=days)
    summed = OF_OUTCOMES | {f"all_{name}": Sum(name) for name in CREDITED} | {"first": Min("first_at")}
    sums = by_day.values_list("project_id", "day", "kind").annotate(**summed).order_by()
    return [
        AdviceDay(
            **{"user_id": user_pk, "project_id": project, "day": day, "kind": kind},
            **dict(zip((*OF_DAYS, *CREDITED, "first_at"), values, strict=True)),
        )
        for project, day, kind, *values in sums
    ]


def outcomes_of_work(user_pk: int, work_key: str, since: datetime) -> QuerySet[AdviceOutcome]:
    """What became of the advice on one work, the latest first, without what was only repeated."""
    rows = AdviceOutcome.objects.filter(user=user_pk, work_key=work_key, given_at__gte=since)
    shown = rows.exclude(status=Status.REPEATED).select_related("job__efficiency")
    return shown.prefetch_related("job__efficiency__recommendations").order_by("-given_at", "-job", "kind")


def outcomes_of_run(job_pk: int, reach: Reach) -> QuerySet[AdviceOutcome]:
    """What became of the advice on one run, for who sees its later runs too: not for whom a single run is shared."""
    rows = AdviceOutcome.objects.filter(reach.all, job=job_pk).exclude(status__in=(Status.OPEN, Status.REPEATED))
    return rows.select_related("job__efficiency").prefetch_related("job__efficiency__recommendations").order_by("kind")


def latest_statuses() -> dict[str, int]:
    """What became of the latest advice of the site, as counts by status."""
    latest = AdviceOutcome.objects.order_by("-given_at").values_list("status", flat=True)[:COUNTED_MAX]
    found = Counter(latest)
    return {status.value: found[status.value] for status in Status}


def given_between(first: date, until: date) -> Iterator[Given]:
    """All advice that was given from one day of the site until before another."""
    rows = AdviceOutcome.objects.filter(given_at__gte=start_of(first), given_at__lt=start_of(until)).order_by()
    for row in rows.values_list(*GIVEN_COLUMNS).iterator():
        yield Given(*row)


def months_with_advice(months: Sequence[date]) -> list[date]:
    """Those of these months that have advice."""
    return months_with(AdviceOutcome.objects.all(), "given_at", months)


def closed_months() -> Sequence[tuple[date, list[RuleFigures]]]:
    """The latest months that are added up, the oldest first."""
    return latest_figures("advice", list[RuleFigures])[::-1]


def advice_of_month(first_day: date) -> list[RuleFigures] | None:
    """The advice of one month, rule by rule; None while it is not added up."""
    return figures_of("advice", first_day, list[RuleFigures])
