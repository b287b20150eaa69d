"""Reading the runs of one work; whose they are the caller has decided: every function takes runs that are visible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import F, QuerySet

from analysis.history.overview import FollowedRun, WorkRun, followed_runs
from analysis.history.selectors import FOLLOW_RUNS_MAX, advised_gpus
from analysis.models import JobEfficiency, RecommendationRow
from analysis.works.best_request import Options
from analysis.works.runs import PastRun
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.sbatch import OptionChange

RUNS_MAX = 5000
"""The latest runs of a work that are looked at: a year of one that runs every two hours, and bounded for a robot's."""

JUDGED = ("gpu_hours", "avg_gpu_util", "uncounted_reason", "finding_codes")
COLUMNS: dict[str, Any] = {
    "pk": F("pk"),
    **{name: F(name) for name in ("cluster", "job_id", "attempt", "state", "ended_at", "partition", "ntasks")},
    **{name: F(name) for name in ("cpus_per_task", "is_exclusive", "request", "is_told_by_owner")},
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


def _past_run(row: dict[str, Any], recommended_gpus: int | None) -> PastRun:
    judgement = row.pop("judgement")
    row["uncounted_reason"], row["finding_codes"] = row["uncounted_reason"] or "", row["finding_codes"] or ""
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


def judgements_of(job_pks: Sequence[int]) -> dict[int, JobEfficiency]:
    """The judgements of these runs by run."""
    return {judged.job_id: judged for judged in JobEfficiency.objects.filter(job__in=job_pks)}


def followed_of_work(runs: Iterable[PastRun], since: datetime) -> list[FollowedRun]:
    """Which of the runs followed advice on GPUs, as `analysis.history` counts it over all works."""
    counted = [
        WorkRun((0, 0, run.cluster, ""), run.ended_at, run.gpus, run.gpu_hours, run.recommended_gpus, run.pk)
        for run in runs
        if run.is_completed and run.gpus and run.is_judged and not run.uncounted_reason and run.gpu_hours is not None
    ]
    return followed_runs(counted[:FOLLOW_RUNS_MAX], since)
