"""What the runs of one work say together, as its page shows it, as the answer of a call."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from analysis.history.periods import Period
from analysis.history.selectors import savings_of_works
from analysis.outcomes.selectors import saved_by_work
from analysis.scaling import GpuCount, Scaling, scaling
from analysis.works.failure_sizes import failure_sizes
from analysis.works.failures import failures
from analysis.works.patterns import Patterns, typical_runs
from analysis.works.runs import PastRun
from analysis.works.selectors import advice_of
from analysis.works.without_use import without_use
from jobs.models import Job
from portal.api.work_answers import (
    AdviceAnswer,
    BestRequestAnswer,
    FailureAnswer,
    KindAnswer,
    Range,
    SavedAnswer,
    ScalingAnswer,
    ScalingPoint,
    TypicalRun,
    UnusedAnswer,
    range_of,
)
from portal.charts.best_known import best_known, deciding_trial, origin_of, without_time
from portal.charts.failure_list import failure_list
from portal.charts.typical_run import typical, unused_text
from portal.charts.work_requests import work_requests
from reports.services.links import job_url
from reports.work_texts import best_request_text, saved_text, scaling_text

SAVINGS_RUNS_MAX = 4000
"""As in the answer about all works."""


def typical_run(runs: Sequence[PastRun], found: Patterns) -> TypicalRun:
    """Each quantity of the completed, counted runs with its range."""
    shown = typical_runs(runs)
    return TypicalRun(
        runs=len(shown),
        gpus_requested=range_of(run.gpus for run in shown),
        gpus_used=range_of(run.effective_gpus for run in shown),
        use_percent=range_of(run.avg_gpu_util for run in shown),
        gpu_memory_gb=range_of(run.peak_gpu_mem_gb for run in shown),
        memory_gb=range_of(run.host_peak_gb for run in shown),
        cores_used=range_of(run.busy_cores for run in shown),
        run_time_s=range_of(run.elapsed_s for run in shown),
        walltime_requested_s=range_of(run.walltime_s for run in shown),
        success_rate=found.success_fraction,
        completed=found.completed,
        decided=found.decided,
    )


def kind_of_work(found: Patterns) -> KindAnswer | None:
    """What limits the work, with the numbers behind it; None where use was not measured."""
    shown, kind = typical(found), found.kind
    if kind is None:
        return None
    return KindAnswer(kind.kind.value if kind.kind else None, shown.kind, shown.kind_text, list(shown.evidence))


def unused_runs(runs: Sequence[PastRun]) -> UnusedAnswer | None:
    """The runs that used no GPU at all; None where every one used its GPUs."""
    found = without_use(runs)
    if found is None:
        return None
    return UnusedAnswer(found.runs, found.of, found.gpu_hours, found.is_over, unused_text(runs))


def failed_runs(runs: Sequence[PastRun]) -> list[FailureAnswer]:
    """How runs failed, and what the failed ones had in common."""
    return [FailureAnswer(text) for text in failure_list(failures(runs), failure_sizes(runs)).common]


def best_request_of(runs: Sequence[PastRun]) -> BestRequestAnswer | None:
    """The request of the work; None where none is known."""
    best = best_known(runs, advice_of)
    if best is None:
        return None
    run = best.run
    address = job_url(Job(cluster=run.cluster, job_id=run.job_id, attempt=run.attempt))
    return BestRequestAnswer(
        list(best.options),
        f"{run.cluster}/{run.job_id}",
        address,
        best_request_text(origin_of(best)),
        best.is_suggested,
    )


def open_advice(owner: int, key: str, period: Period) -> AdviceAnswer | None:
    """What the request of the work changes and would have saved; None where later runs leave nothing to save."""
    own = Q(user=owner)
    savings = savings_of_works(own, period, SAVINGS_RUNS_MAX, [key]).works
    for each in work_requests(own, savings, period.end):
        if each.is_change:
            address = job_url(each.run)
            return AdviceAnswer(each.title, list(each.diff), list(each.block), each.gpu_hours, each.jobs, address)
    return None


def scaling_of(runs: Sequence[PastRun]) -> ScalingAnswer:
    """Run time, speed and use by number of GPUs."""
    scaled = scaling(runs)
    return ScalingAnswer(
        points=[_point(scaled, count) for count in scaled.counts],
        knee_gpus=scaled.knee.gpus if scaled.knee else None,
        is_noisy=scaled.is_noisy,
        text=scaling_text(scaled, without_time(deciding_trial(runs, scaled))),
        throughput_unit=scaled.unit,
    )


def _point(scaled: Scaling, count: GpuCount) -> ScalingPoint:
    efficiency = count.efficiency_fraction
    return ScalingPoint(
        gpus=count.gpus,
        n=count.runs,
        run_time_s=Range(count.runs, count.typical_s, count.fastest_s, count.slowest_s),
        use_percent=count.avg_gpu_util,
        speedup=None if efficiency is None else efficiency * count.gpus / scaled.smallest.gpus,
        efficiency=efficiency,
        gpu_hours=count.gpu_hours,
        throughput_per_s=count.per_s,
    )


def saved_of(owner: int, key: str) -> SavedAnswer | None:
    """What following advice brought; None where no run followed any."""
    saved = saved_by_work(owner, key)
    if not saved.runs:
        return None
    gpu_hours = saved.saved_gpu_hours if saved.compared_runs else None
    return SavedAnswer(gpu_hours, saved.runs, saved_text(saved.runs, saved.compared_runs, saved.saved_gpu_hours))
