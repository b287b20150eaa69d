"""What went wrong before, and would again with the request: memory, the time limit, the program itself.

Runs of the same size show it as it is. Those of others are compared by what does not depend on the size: memory for
each GPU, and the time that their work takes at best on the requested GPUs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.check.asked import Asked
from analysis.check.earlier import TIMES_MIN, Earlier, is_on_such_nodes
from analysis.comparable import limit_with_headroom_s
from analysis.thresholds import LIMITS
from analysis.works.failure_sizes import FailureSize, failure_sizes
from analysis.works.runs import PastRun
from jobs.sbatch import Shape

LATEST_MAX = 20
FAILED_LATEST_MAX, FAILED_MIN, FAILED_SHARE_MIN = 10, 3, 0.5
"""The program itself is a risk from three failures on that are at least half of the last ten runs."""

GPU_MEMORY, HOST_MEMORY = "gpu_out_of_memory", "host_out_of_memory"


@dataclass(frozen=True)
class Risk:
    """`runs` of the last `of` runs show it, of the same size or (`is_other_size`) of others.

    `code` is "timeout", "out_of_memory" (of hosts), "gpu_out_of_memory" or "failed"; `requested` and `worst` are the
    limit and the longest run in seconds, or the memory and the highest peak in 2^30 bytes; None where there is none.
    Of other sizes `requested` and `worst` are memory for each GPU, and the time that the longest run would take on the
    requested GPUs if it scaled without loss; of a request without GPUs (`is_in_all`) memory is of all.
    `least` is what a request needs at the very least so that no such run would have failed, in seconds or memory of the
    whole job, and `needed` the same with the usual margin.
    """

    code: str
    runs: int
    of: int
    requested: float | None = None
    worst: float | None = None
    is_other_size: bool = False
    is_in_all: bool = False
    least: float | None = None
    needed: float | None = None


def risks(found: Earlier, request: Asked) -> tuple[Risk, ...]:
    """Every risk that earlier runs of the same size show; from other sizes what holds for this one too.

    Other sizes count only where fewer than three runs of this size have completed: these show by themselves what it
    needs.
    """
    latest, shape = found.same_size[:LATEST_MAX], request.shape
    if shape is None:
        return ()
    every = (
        _too_long(latest, shape),
        _too_much_memory(latest, shape.memory_gb),
        _of(latest, [run for run in latest if _lacks_gpu_memory(run)], GPU_MEMORY),
        _failed(latest[:FAILED_LATEST_MAX]),
    )
    shown = [risk for risk in every if risk is not None]
    if len(found.completed) < TIMES_MIN:
        said = {risk.code for risk in shown}
        shown += [risk for risk in _risks_of_other_sizes(found, request) if risk.code not in said]
    return tuple(shown)


def _risks_of_other_sizes(found: Earlier, request: Asked) -> list[Risk]:
    """What runs of other sizes on such nodes show for the requested one."""
    shape, same = request.shape, {run.pk for run in found.same_size}
    others = [run for run in found.runs if run.pk not in same and is_on_such_nodes(run, request)][:LATEST_MAX]
    if shape is None or not others:
        return []
    if not shape.gpus:
        in_all = _too_much_without_gpus(others, shape)
        return [] if in_all is None else [replace(in_all, is_other_size=True, is_in_all=True)]
    every = (
        _too_long(others, shape),
        _too_much_for_each_gpu(others, shape),
        # Memory that as many or more GPUs do not have, fewer do not have either.
        _of(others, [r for r in others if (r.gpus or 0) >= shape.gpus and _lacks_gpu_memory(r)], GPU_MEMORY),
        _failed(others[:FAILED_LATEST_MAX]),
    )
    return [replace(risk, is_other_size=True) for risk in every if risk is not None]


def _too_long(runs: Sequence[PastRun], shape: Shape) -> Risk | None:
    """Runs that took longer than the limit, or that a limit of at least as much ended.

    Runs of other sizes count with the time on the requested GPUs even if they scaled without loss: fewer GPUs are at
    best as slow in proportion; on more GPUs than needed the work takes no less.
    """
    if shape.walltime_s is None:
        return None
    limit_s = shape.walltime_s
    longer = [run for run in runs if run.is_completed and _best_s(run, run.elapsed_s, shape) > limit_s]
    ended = [run for run in runs if run.state == "TIMEOUT" and _best_s(run, run.walltime_s, shape) >= limit_s]
    worst_s = max((_best_s(run, run.elapsed_s, shape) for run in longer), default=None)
    return _with_time(_of(runs, [*longer, *ended], "timeout", limit_s, worst_s))


def _best_s(run: PastRun, took_s: float | None, shape: Shape) -> float:
    """The least time that the work of a run takes on the requested GPUs: never less on fewer."""
    return (took_s or 0.0) * min((run.gpus or 0) / max(shape.gpus, 1), 1.0)


def _too_much_for_each_gpu(others: Sequence[PastRun], shape: Shape) -> Risk | None:
    """Runs that needed more host memory for each GPU that they used than is requested, or ran out of as much."""
    if shape.memory_gb is None:
        return None
    each_gb = shape.memory_gb / shape.gpus
    peaks_gb = {run.pk: (run.host_peak_gb or 0.0) / (run.effective_gpus or run.gpus or 1) for run in others}
    # A run may need its memory once, and not for each GPU: more in all than any used is enough.
    more = [
        r for r in others if r.is_completed and peaks_gb[r.pk] > each_gb and (r.host_peak_gb or 0) > shape.memory_gb
    ]
    out = [r for r in others if _ran_out(r) and (r.memory_gb or 0.0) / (r.gpus or 1) >= each_gb]
    worst_gb = max((peaks_gb[run.pk] for run in more), default=None)
    ended_gb = max(((run.memory_gb or 0.0) / (run.gpus or 1) * shape.gpus for run in out), default=0.0)
    return _with_memory(_of(others, [*more, *out], "out_of_memory", each_gb, worst_gb), _highest_gb(more), ended_gb)


def _too_much_without_gpus(others: Sequence[PastRun], shape: Shape) -> Risk | None:
    """The same of a request without GPUs: memory that completed runs needed in all."""
    if shape.memory_gb is None:
        return None
    more = [run for run in others if run.is_completed and (run.host_peak_gb or 0.0) > shape.memory_gb]
    risk = _of(others, more, "out_of_memory", shape.memory_gb, _highest_gb(more) or None)
    return _with_memory(risk, _highest_gb(more), 0.0)


def _highest_gb(runs: Sequence[PastRun]) -> float:
    return max((run.host_peak_gb or 0.0 for run in runs), default=0.0)


def _with_time(risk: Risk | None) -> Risk | None:
    """The risk with the limit that none of its runs would have reached; of those that a limit ended only that."""
    if risk is None or risk.requested is None:
        return risk
    if risk.worst is None:
        return replace(risk, least=risk.requested, needed=risk.requested)
    return replace(risk, least=risk.worst, needed=limit_with_headroom_s(risk.worst))


def _with_memory(risk: Risk | None, peak_gb: float, ended_gb: float) -> Risk | None:
    """The risk with the memory that its runs needed; half as much again as what was too little for one."""
    if risk is None:
        return None
    # Memory that ran out was not enough: a whole GB more is the least that may be.
    least_gb = max(peak_gb, ended_gb + 1.0 if ended_gb else 0.0)
    needed_gb = max(LIMITS.headroom_factor * peak_gb, LIMITS.more_factor * ended_gb)
    return replace(risk, least=least_gb, needed=float(math.ceil(needed_gb)))


def _lacks_gpu_memory(run: PastRun) -> bool:
    return GPU_MEMORY in run.finding_codes.split()


def _ran_out(run: PastRun) -> bool:
    """Whether a run ended for lack of host memory."""
    is_out = run.state == "OUT_OF_MEMORY" or HOST_MEMORY in run.finding_codes.split()
    return is_out and not run.is_completed


OF_FAILURE = {"memory": "out_of_memory", "time": "timeout", "failed": "failed"}
"""The code of a risk by the way to fail (`analysis.works.failure_sizes`)."""


def size_risks(found: Earlier, request: Asked) -> tuple[tuple[str, FailureSize], ...]:
    """(Code, split) of the sizes at which runs of the work fail, on whose failing side the request is.

    They are of runs of any size: each split is more than chance, as on the page of the work.
    """
    shape = request.shape
    if shape is None:
        return ()
    return tuple(
        (OF_FAILURE[split.failure], split)
        for split in failure_sizes(found.runs)
        if (size := getattr(shape, split.size)) is not None and (size > split.limit) == split.is_above
    )


def _too_much_memory(latest: Sequence[PastRun], memory_gb: float | None) -> Risk | None:
    """Runs whose hosts needed more memory than requested, or that ran out of at least as much."""
    if memory_gb is None:
        return None
    more = [run for run in latest if run.is_completed and (run.host_peak_gb or 0.0) > memory_gb]
    out = [run for run in latest if _ran_out(run) and (run.memory_gb or 0.0) >= memory_gb]
    ended_gb = max((run.memory_gb or 0.0 for run in out), default=0.0)
    risk = _of(latest, [*more, *out], "out_of_memory", memory_gb, _highest_gb(more) or None)
    return _with_memory(risk, _highest_gb(more), ended_gb)


def _failed(latest: Sequence[PastRun]) -> Risk | None:
    """Runs whose program failed by itself, where that is what usually happens."""
    failed = [run for run in latest if run.state == "FAILED" and "out_of_memory" not in run.finding_codes]
    is_usual = len(failed) >= FAILED_MIN and len(failed) >= FAILED_SHARE_MIN * len(latest)
    return _of(latest, failed, "failed") if is_usual else None


def _of(
    latest: Sequence[PastRun],
    runs: Sequence[PastRun],
    code: str,
    requested: float | None = None,
    worst: float | None = None,
) -> Risk | None:
    return Risk(code, len(runs), len(latest), requested, worst) if runs else None
