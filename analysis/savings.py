"""What following the advice would have saved in billed GPU-hours, with the assumption stated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.comparable import is_hint
from analysis.facts import JobFacts
from analysis.module_power import idle_module_energy_j
from analysis.next_request import bill
from analysis.rightsizing import Recommendation, RecommendationKind, run_seconds_after
from analysis.thresholds import LIMITS, Limits
from jobs.hardware import partition_of

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
