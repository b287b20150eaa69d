"""What went wrong before at the requested size, and would again: memory, the time limit, the program itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.check.asked import Asked
from analysis.check.earlier import Earlier
from analysis.works.failure_sizes import FailureSize, failure_sizes
from analysis.works.runs import PastRun

LATEST_MAX = 20
FAILED_LATEST_MAX, FAILED_MIN, FAILED_SHARE_MIN = 10, 3, 0.5
"""The program itself is a risk from three failures on that are at least half of the last ten runs."""

GPU_MEMORY, HOST_MEMORY = "gpu_out_of_memory", "host_out_of_memory"


@dataclass(frozen=True)
class Risk:
    """`runs` of the last `of` runs of the same size show it.

    `code` is "timeout", "out_of_memory" (of hosts), "gpu_out_of_memory" or "failed"; `requested` and `worst` are the
    limit and the longest run in seconds, or the memory and the highest peak in 2^30 bytes; None where there is none.
    """

    code: str
    runs: int
    of: int
    requested: float | None = None
    worst: float | None = None


def risks(found: Earlier, request: Asked) -> tuple[Risk, ...]:
    """Every risk that earlier runs of the same size show."""
    latest, shape = found.same_size[:LATEST_MAX], request.shape
    if shape is None or not latest:
        return ()
    every = (
        _too_long(latest, shape.walltime_s),
        _too_much_memory(latest, shape.memory_gb),
        _of(latest, [run for run in latest if GPU_MEMORY in run.finding_codes.split()], GPU_MEMORY),
        _failed(latest[:FAILED_LATEST_MAX]),
    )
    return tuple(risk for risk in every if risk is not None)


OF_FAILURE = {"memory": "out_of_memory", "time": "timeout", "failed": "failed"}
"""The code of a risk by the way to fail (`analysis.works.failure_sizes`)."""


def size_risks(found: Earlier, request: Asked) -> tuple[tuple[str, FailureSize], ...]:
    """(Code, split) of the sizes at which runs of the work fail, on whose failing side the request is.

    They are of runs of any size: each split is more than chance, as on the page of the work.
    """
    shape = request.shape
    if shape is None:
        return ()
    sizes = {name: getattr(shape, name) for name in ("gpus", "nodes", "ntasks", "memory_gb", "walltime_s")}
    return tuple(
        (OF_FAILURE[split.failure], split)
        for split in failure_sizes(found.runs)
        if (size := sizes[split.size]) is not None and (size > split.limit) == split.is_above
    )


def _too_long(latest: Sequence[PastRun], limit_s: float | None) -> Risk | None:
    """Runs that took longer than the limit, or that a limit of at least as much ended."""
    if limit_s is None:
        return None
    longer = [run for run in latest if run.is_completed and (run.elapsed_s or 0.0) > limit_s]
    ended = [run for run in latest if run.state == "TIMEOUT" and (run.walltime_s or 0.0) >= limit_s]
    worst_s = max((run.elapsed_s or 0.0 for run in longer), default=None)
    return _of(latest, [*longer, *ended], "timeout", limit_s, worst_s)


def _too_much_memory(latest: Sequence[PastRun], memory_gb: float | None) -> Risk | None:
    """Runs whose hosts needed more memory than requested, or that ran out of at least as much."""
    if memory_gb is None:
        return None
    more = [run for run in latest if run.is_completed and (run.host_peak_gb or 0.0) > memory_gb]
    out = [
        run
        for run in latest
        if (run.state == "OUT_OF_MEMORY" or HOST_MEMORY in run.finding_codes.split())
        and not run.is_completed
        and (run.memory_gb or 0.0) >= memory_gb
    ]
    worst_gb = max((run.host_peak_gb or 0.0 for run in more), default=None)
    return _of(latest, [*more, *out], "out_of_memory", memory_gb, worst_gb)


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
