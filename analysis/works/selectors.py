"""Reading the runs of one work; whose they are the caller has decided: every function takes runs that are visible."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from analysis.history.periods import last_days
from analysis.history.selectors import advised_gpus
from analysis.models import JobEfficiency, RecommendationRow
from analysis.works.best_request import RUNS_MAX as REQUEST_RUNS_MAX
from analysis.works.best_request import Options
from analysis.works.models import WorkPipeline
from analysis.works.pipelines import COMPLETED, StepRun
from analysis.works.runs import PastRun
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.sbatch import OptionChange
from jobs.selectors import BY_SITE, Reach, keys_of_any
from wire.work_names import KEY_LENGTH

RUNS_MAX = 1000
"""The latest runs of a work that are looked at: enough for every quantile that is stated, and read within a page."""

REQUEST_DAYS = 365
"""The runs of so many days decide what the request of a work is."""

PIPELINE_DAYS = 90
PIPELINE_RUNS_MAX = 2000
"""The latest runs of a person among which works that follow one another are looked for."""

JUDGED = (
    *("gpu_hours", "avg_gpu_util", "effective_gpus", "uncounted_reason", "finding_codes"),
    *("busy_cores", "host_peak_gb", "io_wait_fraction", "peak_gpu_mem_gb", "saved_gpu_hours"),
    *("throughput_unit", "throughput_per_s"),
)
COLUMNS: dict[str, Any] = {
    "pk": F("pk"),
    **{name: F(name) for name in ("cluster", "job_id", "job_name", "attempt", "state", "ended_at")},
    **{
        name: F(name)
        for name in ("partition", "ntasks", "cpus_per_task", "is_exclusive", "request", "is_told_by_owner")
    },
    "nodes": F("node_count"),
    "gpus": F("gpus_allocated"),
    "cores": F("cpus_allocated"),
    "memory_gb": F("memory_requested_gb"),
    "walltime_s": F("walltime_requested_s"),
    "elapsed_s": F("walltime_used_s"),
    **{name: F(f"efficiency__{name}") for name in JUDGED},
    "judgement": F("efficiency__pk"),
}


def past_runs(runs: QuerySet[Job], limit: int = RUNS_MAX) -> list[PastRun]:
    """The latest of these runs that have started and ended, the latest first: one query."""
    ended = runs.filter(state__in=ENDED_STATES, ended_at__isnull=False, started_at__isnull=False)
    columns = {f"read_{name}": column for name, column in COLUMNS.items()}
    rows = ended.order_by("-ended_at", "-pk").annotate(**columns, read_advised=advised_gpus())
    names = tuple(COLUMNS)
    return [
        _past_run(dict(zip(names, row[:-1], strict=True)), row[-1])
        for row in rows.values_list(*columns, "read_advised")[:limit]
    ]


def past_runs_of_work(runs: QuerySet[Job], work: str, limit: int = RUNS_MAX) -> list[PastRun]:
    """The same of one work: of its latest ones, those among `runs`.

    A run that nothing names is a work of its own, called by its key. The key of a work is of one person's in one
    project: without them the database takes the latest from an index, and reads no others. `runs` must not be narrowed
    to the work as well: of a key that is not in its statistics yet, PostgreSQL expects one run, and would look for the
    latest thousand again for each of its many.
    """
    if len(work) < KEY_LENGTH:
        return past_runs(runs.filter(pk=int(work)), limit)
    latest = Job.objects.filter(work_key=work, ended_at__isnull=False).order_by("-ended_at", "-pk")
    return past_runs(runs.filter(pk__in=keys_of_any([latest[:limit]])), limit)


def _past_run(row: dict[str, Any], recommended_gpus: int | None) -> PastRun:
    judgement = row.pop("judgement")
    row["uncounted_reason"], row["finding_codes"] = row["uncounted_reason"] or "", row["finding_codes"] or ""
    row["throughput_unit"] = row["throughput_unit"] or ""
    return PastRun(**row, is_judged=judgement is not None, recommended_gpus=recommended_gpus)


def run_value(job: Job) -> PastRun:
    """One run the caller may see, with its judgement, as this package counts with it; it may not have ended yet."""
    judged = getattr(job, "efficiency", None)
    row = {name: getattr(job, column.name) for name, column in COLUMNS.items() if "__" not in column.name}
    for name in JUDGED:
        row[name] = getattr(judged, name, None)
    row["judgement"] = judged and judged.pk
    row["ended_at"] = job.ended_at or job.changed_at
    return _past_run(row, None)


def advice_of(job_pk: int) -> list[tuple[tuple[OptionChange, ...], Options]]:
    """What the report of a run advises, piece by piece: changes of its lines, or the block to write."""
    rows = RecommendationRow.objects.filter(efficiency__job=job_pk).order_by("position")
    return [
        (msgspec.convert(changes, tuple[OptionChange, ...]), tuple(request))
        for changes, request in rows.values_list("changes", "request")
    ]


def judgements_with_advice(job_pks: Sequence[int]) -> dict[int, JobEfficiency]:
    """The judgements of these runs by run, each with its run and its advice: two queries."""
    rows = JobEfficiency.objects.filter(job__in=job_pks).select_related("job")
    return {judged.job_id: judged for judged in rows.prefetch_related("recommendations")}


def advice_in(judged: JobEfficiency) -> list[tuple[tuple[OptionChange, ...], Options]]:
    """What `advice_of` reads, of a judgement with its advice."""
    return [
        (msgspec.convert(row.changes, tuple[OptionChange, ...]), tuple(row.request))
        for row in judged.recommendations.all()
    ]


def latest_runs_of_works(runs: QuerySet[Job], works: Sequence[str], now: datetime) -> dict[str, list[PastRun]]:
    """The latest of these runs within a year, of each of these works, as its request follows from them.

    One query for each work.
    """
    within = runs.filter(ended_at__gte=last_days(now, REQUEST_DAYS).start)
    return {work: past_runs_of_work(within, work, REQUEST_RUNS_MAX) for work in works}


def expected_run_times_s(job_pks: Sequence[int]) -> dict[int, float]:
    """How long the reports of these runs expect the run to take as they suggest, where not as long: one query."""
    savings = JobEfficiency.objects.filter(job__in=job_pks, saved_gpu_hours__gt=0).values_list("job_id", "savings")
    return {pk: said["run_s"] for pk, said in savings if said and said["assumption"] != "same_run_time"}


def judgements_of(job_pks: Sequence[int]) -> dict[int, JobEfficiency]:
    """The judgements of these runs by run."""
    return {judged.job_id: judged for judged in JobEfficiency.objects.filter(job__in=job_pks)}


def pipeline_runs(user_pk: int, now: datetime) -> list[tuple[int, StepRun]]:
    """(Project, run) of the latest named runs of a person that Slurm recorded: one query."""
    runs = Job.objects.filter(
        BY_SITE,
        user=user_pk,
        state__in=ENDED_STATES,
        started_at__isnull=False,
        ended_at__gte=now - timedelta(days=PIPELINE_DAYS),
    ).exclude(work_key="")
    able = Coalesce("eligible_at", "submitted_at", "started_at")
    columns = ("pk", "work_key", "able_at", "ended_at", "state")
    rows = runs.annotate(able_at=able).order_by("-ended_at", "-pk")
    hours = ("efficiency__gpu_hours", "efficiency__wasted_gpu_hours")
    return [
        (
            project,
            StepRun(pk, key, able_at, ended_at, state == COMPLETED, billed, unused, array and (cluster, array)),
        )
        for pk, key, able_at, ended_at, state, billed, unused, project, cluster, array in rows.values_list(
            *columns, *hours, "project_id", "cluster", "array_job_id"
        )[:PIPELINE_RUNS_MAX]
    ]


def pipelines_within(reach: Reach, now: datetime, limit: int) -> list[WorkPipeline]:
    """The pipelines that a person sees, the most GPU-hours first, of those with a run in the last days: one query."""
    since = now - timedelta(days=PIPELINE_DAYS)
    rows = WorkPipeline.objects.filter(reach.all, latest_at__gte=since).select_related("user")
    return list(rows.order_by("-gpu_hours", "pk")[:limit])
