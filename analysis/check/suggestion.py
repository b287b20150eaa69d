"""The request as it should be: what the report of an earlier run would advise had that run been requested like this.

Every number comes from the rules of a report (`analysis.rightsizing`): this module only puts these options beside those
measurements, and leaves out what too few runs show.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TypeVar

import msgspec

from analysis.assess import Assessment, assess
from analysis.check.asked import Asked
from analysis.check.earlier import (
    FEW_RUNS,
    FITS,
    NOT_KEPT,
    ONLY_FAILED,
    OTHER_SIZE,
    TIMES_MIN,
    Earlier,
    compared,
    is_on_such_nodes,
    stands_for,
)
from analysis.check.risks import Risk
from analysis.comparable import limit_with_headroom_s
from analysis.facts import JobFacts
from analysis.next_request import bill, next_request, requested_shape
from analysis.rightsizing import Recommendation, RecommendationKind, slower_factor
from analysis.savings import GPU_HOURS_MIN
from analysis.works.best_request import RECENT_MAX, needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of, threads_per_core
from jobs.records import JobRecord
from jobs.sbatch import OptionChange, Shape, changes_to, request_block, rounded
from metrics.series import RunMetrics

HOUR_S = 3600.0
N = TypeVar("N", int, float)
Measured = Callable[[PastRun], tuple[JobRecord, RunMetrics] | None]
"""The record and the measurements of an earlier run; None where they are no longer stored."""

AdvisedShape = Callable[[PastRun], Shape | None]
"""What the stored report of an earlier run suggests to request instead of its GPUs."""


@dataclass(frozen=True)
class Suggestion:
    """`changes` of the request's own lines, or `block`, the whole request; `wanted` is what either gives.

    `advice` are the pieces with the `facts` that their reasons are made from; empty where only the number of GPUs is
    known from runs of another size. `saves` is GPU-hours of one run, None where that is not known; `run_s` is how long
    the run then probably takes. `runs` is how many earlier runs of the same size it rests on; `like` is None where
    it is only what the partition needs to accept the request (`analysis.check.within`). `raised` are the risks for
    which time or memory is more than the rules of a report give (`analysis.check.enough`).
    """

    changes: tuple[OptionChange, ...]
    block: tuple[str, ...]
    wanted: Shape
    advice: tuple[Recommendation, ...]
    facts: JobFacts | None
    like: PastRun | None
    runs: int
    saves: float | None
    run_s: float | None
    raised: tuple[Risk, ...] = ()


def suggestion(
    request: Asked, found: Earlier, measured: Measured, advised_shape: AdvisedShape
) -> tuple[Suggestion | None, str]:
    """What to change in the request, or why nothing is suggested (a word of `analysis.check.earlier`)."""
    like, why = stands_for(found, request)
    if like is None or request.shape is None:
        return _of_another_size(request, found, advised_shape) if why == OTHER_SIZE else (None, why)
    kept = measured(like)
    if kept is None:
        return None, NOT_KEPT
    record, metrics = kept
    judged = assess(_as_asked(record, like, request, request.shape, found), metrics, past=compared(found, like))
    advice = tuple(_with_limit(each, judged.facts, request.shape.walltime_s) for each in judged.recommendations)
    longer = _longer_time(request, found, judged)
    if longer is not None:
        # One request in the end: what the others change, for the longer time.
        last = advice[-1].wanted if advice else longer.wanted
        advice = (*advice, replace(longer, wanted=replace(last, walltime_s=longer.wanted.walltime_s)))
    if not advice:
        return None, _why_none(request, found, like)
    return _suggestion(request, found, like, judged, advice), ""


def _as_asked(record: JobRecord, like: PastRun, request: Asked, shape: Shape, found: Earlier) -> JobRecord:
    """The record of a run as it would be had it been requested like this; without a limit where too few runs show one.

    A run that its limit ended would not have ended earlier with a shorter one.
    """
    limit_s = shape.walltime_s if len(found.times_s) >= TIMES_MIN else None
    if like.state == "TIMEOUT" and shape.walltime_s:
        limit_s = max(shape.walltime_s, like.walltime_s or 0.0)
    return msgspec.structs.replace(
        record,
        request=dict(request.options),
        partition=shape.partition,
        node_count=shape.nodes,
        gpus_requested=shape.gpus,
        ntasks=shape.ntasks,
        cpus_per_task=None,
        cpus_allocated=shape.cores,
        memory_requested_gb=shape.memory_gb,
        walltime_requested_s=limit_s,
        is_exclusive=shape.is_exclusive,
    )


def _with_limit(advice: Recommendation, facts: JobFacts, limit_s: float | None) -> Recommendation:
    """The advice with the request's own limit where the runs are too few to show another: it is not left out."""
    if advice.wanted.walltime_s is not None or not limit_s:
        return advice
    wanted = replace(advice.wanted, walltime_s=limit_s)
    printed = next_request(facts, wanted) if advice.request else None
    return replace(advice, wanted=wanted, request=printed.block if printed else advice.request)


def _longer_time(request: Asked, found: Earlier, judged: Assessment) -> Recommendation | None:
    """A limit that completed runs of this size would not have reached, where enough of them took longer."""
    shape, times_s = request.shape, found.times_s
    is_timed = any(advice.kind is RecommendationKind.WALLTIME for advice in judged.recommendations)
    has_block = any(advice.request for advice in judged.recommendations)
    if shape is None or not shape.walltime_s or len(times_s) < TIMES_MIN or is_timed or has_block:
        return None
    if max(times_s) <= shape.walltime_s:
        return None
    most_s = (request.partition.walltime_max_s if request.partition else None) or float("inf")
    resized = next((each for each in judged.recommendations if each.kind is RecommendationKind.GPUS), None)
    # The same rule for fewer GPUs as where the limit is too long (`analysis.rightsizing`).
    run_s = max(times_s) * slower_factor(judged.facts, resized)
    wanted_s = min(limit_with_headroom_s(run_s), most_s)
    # Where the partition's longest limit would end such a run as well, only the risk is stated.
    if wanted_s <= shape.walltime_s or max(times_s) > most_s:
        return None
    printed = next_request(judged.facts, replace(requested_shape(judged.facts), walltime_s=wanted_s))
    if printed is None:
        return None
    evidence = {
        "walltime_requested_s": shape.walltime_s,
        "longest_run_s": max(times_s),
        "recommended_walltime_s": wanted_s,
    }
    if resized is not None and run_s > max(times_s):
        evidence |= {"allowed_run_s": run_s, "recommended_gpus": resized.wanted.gpus}
    kind, basis = RecommendationKind.WALLTIME, "own_longer_runs"
    return Recommendation(kind, basis, evidence, printed.shape, printed.changes, printed.block)


def _suggestion(
    request: Asked, found: Earlier, like: PastRun, judged: Assessment, advice: Sequence[Recommendation]
) -> Suggestion:
    block = next((each.request for each in advice if each.request), ())
    changes = () if block else tuple(change for each in advice for change in each.changes)
    saves, run_s = _saved(request, found, judged)
    return Suggestion(
        changes=changes,
        block=block,
        wanted=advice[-1].wanted,
        advice=tuple(advice),
        facts=judged.facts,
        like=like,
        runs=len(found.same_size),
        saves=saves,
        run_s=run_s,
    )


def _saved(request: Asked, found: Earlier, judged: Assessment) -> tuple[float | None, float | None]:
    """GPU-hours of a run of the typical length, and how long it takes with the advice; as `analysis.savings`."""
    typical_s, saved, shape = typical_s_of(found), judged.savings, request.shape
    if typical_s is None or saved is None or shape is None:
        return None, typical_s
    elapsed_s = judged.facts.elapsed_s
    run_s = saved.run_s if saved.assumption == "own_run_time" else saved.run_s / elapsed_s * typical_s
    if shape.walltime_s and typical_s > shape.walltime_s:
        # As requested it would be ended before it is done: nothing to compare with.
        return None, run_s
    wanted = judged.recommendations[0].wanted
    now = bill(request.partition, shape, typical_s)
    later = bill(partition_of(request.cluster, wanted.partition), wanted, run_s)
    if now is None or later is None or now - later < GPU_HOURS_MIN:
        return None, run_s
    return now - later, run_s


def typical_s_of(found: Earlier) -> float | None:
    """The median run time of the completed runs of the same size; None where there are none."""
    return median(found.times_s) if found.times_s else None


def _why_none(request: Asked, found: Earlier, like: PastRun) -> str:
    """Why measurements of an earlier run lead to no advice."""
    if not like.is_completed:
        return ONLY_FAILED
    limit_s = request.shape.walltime_s if request.shape else None
    is_tight = limit_s is not None and any(time_s > limit_s for time_s in found.times_s)
    return FEW_RUNS if is_tight and len(found.times_s) < TIMES_MIN else FITS


def _of_another_size(request: Asked, found: Earlier, advised_shape: AdvisedShape) -> tuple[Suggestion | None, str]:
    """The GPUs that runs of another size needed, where these had more than they needed.

    A request that has no more GPUs is changed only where less memory, fewer cores or another partition are billed less.
    """
    shape = request.shape
    recent = [run for run in found.runs if run.is_comparable and is_on_such_nodes(run, request)][:RECENT_MAX]
    if shape is None or not recent:
        return None, OTHER_SIZE
    most = max(map(needed_gpus, recent))
    like = next(run for run in recent if needed_gpus(run) == most)
    advised = advised_shape(like) if most < (like.gpus or 0) and most <= shape.gpus else None
    if advised is None or advised.gpus > shape.gpus:
        return None, OTHER_SIZE
    if not advised.gpus:
        # Work without GPUs: its cores and memory do not follow from what is requested now.
        moved = rounded(replace(advised, walltime_s=shape.walltime_s))
        return Suggestion((), request_block(moved), moved, (), None, like, 0, None, None), ""
    wanted = replace(
        advised,
        walltime_s=shape.walltime_s,
        cores=_least(advised.cores, shape.cores),
        memory_gb=_least(advised.memory_gb, shape.memory_gb),
        ntasks=_least(advised.ntasks, shape.ntasks),
    )
    target, threads = partition_of(request.cluster, wanted.partition), threads_per_core(request.cluster)
    changes = changes_to(request.options, shape, wanted, request.partition, target, threads)
    if not changes or (wanted.gpus == shape.gpus and not _is_billed_less(request, wanted)):
        return None, OTHER_SIZE
    return Suggestion(changes, (), wanted, (), None, like, 0, None, None), ""


def _least(one: N | None, other: N | None) -> N | None:
    """The smaller of those that are known."""
    known = [value for value in (one, other) if value is not None]
    return min(known, default=None)


def _is_billed_less(request: Asked, wanted: Shape) -> bool:
    """Whether an hour of the suggested request costs less than one of the request."""
    shape, target = request.shape, partition_of(request.cluster, wanted.partition)
    now = None if shape is None else bill(request.partition, shape, HOUR_S)
    later = bill(target, wanted, HOUR_S)
    return now is not None and later is not None and later < now
