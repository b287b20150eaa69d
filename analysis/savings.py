"""What the advice on a run, or one request in all runs of a work, would have saved in billed GPU-hours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.comparable import is_hint
from analysis.facts import JobFacts
from analysis.module_power import idle_module_energy_j
from analysis.next_request import bill
from analysis.rightsizing import Recommendation, RecommendationKind, run_seconds_after
from analysis.thresholds import LIMITS, Limits
from analysis.works.best_request import needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import Shape, shape_of

ASSUMPTIONS = {"overscaling": "same_busy_gpu_seconds", "own_scaling": "own_run_time"}
GPU_HOURS_MIN = 0.005
"""Less is not shown: it would be 0.00."""


@dataclass(frozen=True)
class Savings:
    """Never negative; `assumption` is "same_run_time", "same_busy_gpu_seconds" (then `run_s` is the longer run) or
    "own_run_time" (`run_s` is how long the user's own run on that many GPUs took). `energy_j` is what idle modules used
    that would be released; None where that is not known.
    """

    gpu_hours: float
    assumption: str
    run_s: float
    energy_j: float | None = None


def savings(facts: JobFacts, advised: tuple[Recommendation, ...], limits: Limits = LIMITS) -> Savings | None:
    """The bill of the run minus the bill of the printed request; None without a price or a difference, and for a hint.

    Overscaling keeps the busy GPU-seconds and lets fewer GPUs work at `target_percent`, so the run grows; every
    other advice assumes the same run time.
    """
    resized = [advice for advice in advised if advice.kind is not RecommendationKind.WALLTIME]
    now_gpu_hours = facts.gpu_hours
    if not resized or now_gpu_hours is None:
        return None
    advice = resized[0]
    if is_hint(advice.evidence):
        return None
    run_s = run_seconds_after(facts, advice, limits)
    later = bill(partition_of(facts.record.cluster, advice.wanted.partition), advice.wanted, run_s)
    if later is None or now_gpu_hours - later < GPU_HOURS_MIN:
        return None
    gives_back_idle = facts.allocated_gpus - advice.wanted.gpus >= np.sum(facts.is_idle)
    energy_j = idle_module_energy_j(facts) if gives_back_idle else None
    return Savings(now_gpu_hours - later, ASSUMPTIONS.get(advice.basis, "same_run_time"), run_s, energy_j)


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
    saved = [each for run in runs if (each := _saved(run, request, longer_s)) is not None]
    total = sum(saved)
    return LinesSaving(len(saved), total) if total >= GPU_HOURS_MIN else None


def _saved(run: PastRun, request: Mapping[str, str], longer_s: Mapping[int, float]) -> float | None:
    shape, elapsed_s = _shape(run, request), run.elapsed_s or 0.0
    if shape is None or run.gpu_hours is None or needed_gpus(run) > shape.gpus:
        return None
    if run.pk in longer_s:
        expected_s = longer_s[run.pk] * needed_gpus(run) / max(shape.gpus, 1)
        elapsed_s = expected_s if shape.gpus == needed_gpus(run) else max(expected_s, elapsed_s)
    later = bill(partition_of(run.cluster, shape.partition), shape, elapsed_s)
    return None if later is None else run.gpu_hours - later


def _shape(run: PastRun, request: Mapping[str, str]) -> Shape | None:
    """What Slurm would have given for the request where the run was; the nodes are those that it needs."""
    named = request.get("--partition", run.partition).partition(",")[0]
    return shape_of(
        request, partition_of(run.cluster, named), replace(run.allocation, nodes=0), threads_per_core(run.cluster)
    )
