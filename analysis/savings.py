"""What following the advice would have saved in billed GPU-hours, with the assumption stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.facts import JobFacts
from analysis.idle import is_idle
from analysis.modules import idle_module_energy_j
from analysis.rightsizing import Recommendation, RecommendationKind, run_seconds_after
from analysis.thresholds import LIMITS, Limits
from jobs.billing import Allocation, gpu_hours
from jobs.hardware import partition_of

ASSUMPTIONS = {"overscaling": "same_busy_gpu_seconds", "own_scaling": "own_run_time"}


@dataclass(frozen=True)
class Savings:
    """Never negative; `assumption` is "same_run_time", "same_busy_gpu_seconds" (then `run_s` is the longer run) or
    "own_run_time" (`run_s` is how long the user's own run on that many GPUs took). `energy_j` is what modules drew that
    stood idle and would be given back; None where that is not known.
    """

    gpu_hours: float
    assumption: str
    run_s: float
    energy_j: float | None = None


def savings(facts: JobFacts, advised: tuple[Recommendation, ...], limits: Limits = LIMITS) -> Savings | None:
    """The bill as it was less the bill with the advised request; None without a price or without such advice.

    Overscaling keeps the busy GPU-seconds and lets fewer GPUs work at `target_percent`, so the run grows; every
    other advice assumes the same run time.
    """
    resized = [advice for advice in advised if advice.kind is not RecommendationKind.WALLTIME]
    now_gpu_hours = facts.gpu_hours
    if not resized or now_gpu_hours is None:
        return None
    advice = resized[0]
    run_s = run_seconds_after(facts, advice, limits)
    assumption = ASSUMPTIONS.get(advice.basis, "same_run_time")
    wanted = Allocation(
        nodes=advice.wanted.nodes,
        gpus=advice.wanted.gpus,
        cores=advice.wanted.cores or 0,
        memory_gb=advice.wanted.memory_gb or 0.0,
        is_exclusive=advice.wanted.is_exclusive,
    )
    later = gpu_hours(partition_of(facts.record.cluster, advice.wanted.partition), wanted, run_s)
    if later is None:
        return None
    gives_back_idle = facts.allocated_gpus - advice.wanted.gpus >= np.sum(is_idle(facts, limits))
    energy_j = idle_module_energy_j(facts, limits) if gives_back_idle else None
    return Savings(max(now_gpu_hours - later, 0.0), assumption, run_s, energy_j)
