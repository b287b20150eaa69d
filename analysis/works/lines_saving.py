"""What one request would have saved in runs of its work: their bills minus those of exactly this request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.next_request import bill
from analysis.works.best_request import needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import Shape, shape_of

GPU_HOURS_MIN = 0.005
"""Less would be shown as 0.00."""


@dataclass(frozen=True)
class LinesSaving:
    """`runs` would have used `gpu_hours` less with the lines; those that needed more GPUs than these are in neither."""

    runs: int
    gpu_hours: float


def lines_saving(
    runs: Sequence[PastRun], request: Mapping[str, str], longer_s: Mapping[int, float]
) -> LinesSaving | None:
    """The saving of a whole request, where the bill of each run is known and it saves anything; else None.

    `longer_s` is the run time by run that a report expects on the GPUs that it suggests, for those where it is another
    one; on more GPUs than these it is shorter in proportion, and never shorter than the run was.
    """
    saved = [
        each
        for run in runs
        if needed_gpus(run) <= (_gpus(run, request) or 0) and (each := _saved(run, request, longer_s)) is not None
    ]
    total = sum(saved)
    return LinesSaving(len(saved), total) if total >= GPU_HOURS_MIN else None


def _saved(run: PastRun, request: Mapping[str, str], longer_s: Mapping[int, float]) -> float | None:
    shape, elapsed_s = _shape(run, request), run.elapsed_s or 0.0
    if shape is None or run.gpu_hours is None:
        return None
    if run.pk in longer_s:
        expected_s = longer_s[run.pk] * needed_gpus(run) / max(shape.gpus, 1)
        elapsed_s = expected_s if shape.gpus == needed_gpus(run) else max(expected_s, elapsed_s)
    later = bill(partition_of(run.cluster, shape.partition), shape, elapsed_s)
    return None if later is None else run.gpu_hours - later


def _gpus(run: PastRun, request: Mapping[str, str]) -> int | None:
    shape = _shape(run, request)
    return None if shape is None else shape.gpus


def _shape(run: PastRun, request: Mapping[str, str]) -> Shape | None:
    """What Slurm would have given for the request where the run was; the nodes are those that it needs."""
    held = Shape(
        nodes=run.nodes or 1,
        gpus=run.gpus or 0,
        ntasks=run.ntasks,
        cores=run.cores,
        memory_gb=run.memory_gb,
        walltime_s=run.walltime_s,
        partition=run.partition,
        is_exclusive=bool(run.is_exclusive),
    )
    named = request.get("--partition", run.partition).partition(",")[0]
    return shape_of(request, partition_of(run.cluster, named), replace(held, nodes=0), threads_per_core(run.cluster))
