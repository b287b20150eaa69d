"""How well a job used its GPUs: the quantities of the verdict, each with its coverage beside it."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis.facts import JobFacts
from analysis.thresholds import LIMITS, Limits
from metrics.series import highest
from wire.classes import class_of


class EfficiencyClass(StrEnum):
    EFFICIENT = "EFFICIENT"
    ACCEPTABLE = "ACCEPTABLE"
    INEFFICIENT = "INEFFICIENT"
    WASTED = "WASTED"
    UNKNOWN = "UNKNOWN"


LOW = (EfficiencyClass.INEFFICIENT.value, EfficiencyClass.WASTED.value)
"""The classes of runs that used little of their GPUs."""

MEASURED = (EfficiencyClass.EFFICIENT.value, EfficiencyClass.ACCEPTABLE.value, *LOW)


@dataclass(frozen=True)
class Efficiency:
    """The verdict in numbers; None is "not measured" or "price not known", never zero.

    `wasted_gpu_hours` and `idle_gpu_hours` of a partial run are those of the part that was measured: what the rest did
    is not known. `uncounted_reason` is "", "short" or "system_failure": such a run is shown, but not counted in any
    statistic.
    """

    efficiency_class: EfficiencyClass
    avg_gpu_util: float | None
    coverage_fraction: float
    is_partial: bool
    allocated_gpus: int
    measured_gpus: int
    effective_gpus: int | None
    effective_gpus_fraction: float | None
    peak_gpu_mem_gb: float | None
    peak_gpu_mem_fraction: float | None
    gpu_hours: float | None
    wasted_gpu_hours: float | None
    idle_gpu_hours: float | None
    energy_j: float | None
    uncounted_reason: str


def classify(avg_gpu_util: float | None) -> EfficiencyClass:
    """The class of an unrounded mean busy percent; no measurement is UNKNOWN, never WASTED.

    >>> classify(14.96).value, classify(15.0).value, classify(None).value
    ('WASTED', 'INEFFICIENT', 'UNKNOWN')
    """
    return EfficiencyClass.UNKNOWN if avg_gpu_util is None else EfficiencyClass(class_of(avg_gpu_util))


def efficiency(facts: JobFacts, limits: Limits = LIMITS) -> Efficiency:
    """The quantities of the verdict from the facts of one run."""
    average = facts.avg_gpu_util
    effective = int(np.sum(facts.gpus.avg_util > limits.active_gpu_percent)) if average is not None else None
    coverage = facts.coverage_fraction
    is_partial = average is not None and coverage < limits.partial_coverage_fraction
    judged_gpu_hours = _share(facts.gpu_hours, coverage if is_partial else 1.0)
    return Efficiency(
        efficiency_class=classify(average),
        avg_gpu_util=average,
        coverage_fraction=coverage,
        is_partial=is_partial,
        allocated_gpus=facts.allocated_gpus,
        measured_gpus=facts.gpus.count,
        effective_gpus=effective,
        effective_gpus_fraction=effective / facts.gpus.count if effective is not None else None,
        peak_gpu_mem_gb=highest(facts.gpus.peak_mem_gb),
        peak_gpu_mem_fraction=highest(facts.memory_fractions),
        gpu_hours=facts.gpu_hours,
        wasted_gpu_hours=_share(judged_gpu_hours, None if average is None else 1 - average / 100),
        idle_gpu_hours=_share(judged_gpu_hours, facts.idle_fraction),
        energy_j=facts.energy_j,
        uncounted_reason=_uncounted_reason(facts, limits),
    )


def _share(whole: float | None, fraction: float | None) -> float | None:
    return None if whole is None or fraction is None else whole * fraction


def _uncounted_reason(facts: JobFacts, limits: Limits) -> str:
    if facts.record.is_system_failure:
        return "system_failure"
    return "short" if facts.elapsed_s < limits.short_job_s else ""
