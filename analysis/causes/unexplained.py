"""The finding where no cause is visible: what was checked and ruled out, so that there is always a next step."""

import numpy as np

from analysis.causes.stalls import waits_of
from analysis.causes.waiting import pinned_cores_per_rank
from analysis.facts import JobFacts
from analysis.findings import Evidence, Finding, FindingCode, counted
from analysis.module_power import whole_modules
from analysis.thresholds import LIMITS, Limits
from metrics.series import highest

LOW_CONFIDENCE = 0.4
"""It names no cause, only what to check next."""


def low_use_unexplained(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """A run that failed, or that used its GPUs below Efficient: only where no other finding explains it."""
    failed = facts.record.state == "FAILED"
    average = facts.avg_gpu_util
    is_low = facts.is_use_judged and average is not None and average < limits.efficient_percent
    if not failed and not is_low:
        return None
    evidence: dict[str, float | int | str] = {
        "pattern": "low_use" if is_low else "failed",
        "gpus": facts.allocated_gpus,
        "elapsed_s": facts.elapsed_s,
    }
    if failed:
        evidence |= {"state": facts.record.state, "exit_code": facts.record.exit_code}
    if is_low and average is not None:
        evidence |= {"avg_util_percent": average, **_ruled_out(facts, limits)}
    coverage_fraction = facts.coverage_fraction if is_low else 1.0
    return Finding(FindingCode.LOW_USE_UNEXPLAINED, LOW_CONFIDENCE * counted(coverage_fraction), evidence)


def _ruled_out(facts: JobFacts, limits: Limits) -> Evidence:
    """The numbers of what was measured and did not explain it; what was not measured is absent."""
    modules, waits = whole_modules(facts), waits_of(facts)
    found = {
        "peak_memory_fraction": highest(facts.memory_fractions),
        "busy_host_fraction": facts.busy_host_fraction,
        "power_fraction": None if modules is None else float(np.mean(modules.power_fraction)),
        "busy_cores_per_rank": pinned_cores_per_rank(facts, limits),
        "summed_util_percent": _in_turn(facts, limits),
        **waits.evidence,
    }
    return {name: value for name, value in found.items() if value is not None}


def _in_turn(facts: JobFacts, limits: Limits) -> float | None:
    """The use of all GPUs together where it is that of one at most, and they share it evenly."""
    use_percent = facts.gpus.avg_util
    if use_percent.size < 2 or not np.all(facts.did_work) or float(np.ptp(use_percent)) >= limits.uneven_points:
        return None
    total_percent = float(np.sum(use_percent))
    return total_percent if limits.efficient_percent <= total_percent <= 100 else None
