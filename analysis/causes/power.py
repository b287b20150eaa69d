"""What power and clocks show beside busy percent: kernels that spin, kernels that could run faster, slow hardware.

A rule on power needs modules whose GPUs were all allocated to the job.
"""

import numpy as np

from analysis.causes.progress import flat_progress
from analysis.causes.spread import is_uneven
from analysis.facts import JobFacts, divide
from analysis.findings import Finding, FindingCode, confidence, counted, margin_above, margin_below, margin_within
from analysis.module_power import Modules, whole_modules
from analysis.phases import Course, course, phases
from analysis.thresholds import LIMITS, Limits


def busy_but_waiting(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Busy GPUs that draw little power: kernels that wait in a loop, for a collective that never ends.

    With a step counter that stood still until the end it is counted, and where power is not known as well.
    """
    modules = whole_modules(facts)
    spinning = _spinning(facts, modules, limits) if modules else None
    is_power_low = float(np.mean(modules.power_fraction)) < limits.flat_power_fraction if modules else None
    flat = flat_progress(facts, limits, is_power_low=is_power_low)
    if flat is None:
        return spinning
    evidence = _power_evidence(modules) if modules else {}
    return Finding(FindingCode.BUSY_BUT_WAITING, counted(facts.coverage_fraction), {**evidence, **flat})


def _spinning(facts: JobFacts, modules: Modules, limits: Limits) -> Finding | None:
    """What power alone shows."""
    busy_percent, power_fraction = float(np.mean(modules.busy_percent)), float(np.mean(modules.power_fraction))
    if busy_percent < limits.spinning_busy_percent:
        return None
    highest_fraction = float(
        np.interp(
            busy_percent,
            (limits.spinning_busy_percent, 100.0),
            (limits.spinning_power_fraction, limits.spinning_power_fraction_full),
        )
    )
    if power_fraction >= highest_fraction:
        return None
    return Finding(
        FindingCode.BUSY_BUT_WAITING,
        confidence(
            facts.coverage_fraction * modules.known_fraction,
            margin_above(busy_percent, limits.spinning_busy_percent, 100.0),
            margin_below(power_fraction, highest_fraction),
        ),
        _power_evidence(modules),
    )


def kernel_tuning(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Steadily half busy at half power, with free host and memory: the kernels themselves could run faster."""
    if not _has_room(facts, limits) or is_uneven(facts.gpus.avg_util, limits) or not _is_steady(facts, limits):
        return None
    modules = whole_modules(facts)
    if modules is None:
        return None
    busy_percent, power_fraction = float(np.mean(modules.busy_percent)), float(np.mean(modules.power_fraction))
    highest_fraction = float(
        np.interp(
            busy_percent,
            (limits.efficient_percent, limits.tuning_busy_percent_max),
            (limits.tuning_power_fraction_max, limits.tuning_power_fraction_busy),
        )
    )
    margins = (
        margin_within(busy_percent, limits.tuning_busy_percent_min, limits.tuning_busy_percent_max),
        margin_within(power_fraction, limits.tuning_power_fraction_min, highest_fraction),
    )
    if min(margins) < 0:
        return None
    return Finding(
        FindingCode.KERNEL_TUNING,
        confidence(facts.coverage_fraction * modules.known_fraction, *margins),
        _power_evidence(modules),
    )


def throttled(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The hardware lowered its clocks for heat or power: caused by the system, not by the user."""
    throttled_s, measured_s = facts.gpus.throttled_s, facts.measured_s
    is_known = ~np.isnan(throttled_s)
    known_s = float(np.sum(measured_s[is_known]))
    if known_s <= 0:
        return None
    fraction = min(float(np.sum(throttled_s[is_known])) / known_s, 1.0)
    if fraction < limits.throttled_fraction:
        return None
    by_gpu = divide(throttled_s, measured_s)
    return Finding(
        FindingCode.THROTTLED,
        counted(facts.coverage_fraction),
        {
            "throttled_fraction": fraction,
            "throttled_gpus": int(np.sum(by_gpu >= limits.throttled_fraction)),
            "gpus": int(np.sum(is_known)),
            "elapsed_s": facts.elapsed_s,
        },
    )


def _power_evidence(modules: Modules) -> dict[str, float | int | str]:
    return {
        "busy_percent": float(np.mean(modules.busy_percent)),
        "power_w": float(np.mean(modules.power_w)),
        "power_fraction": float(np.mean(modules.power_fraction)),
        "modules": modules.count,
    }


def _has_room(facts: JobFacts, limits: Limits) -> bool:
    """Whether cores and GPU memory were measured and far from full."""
    if not facts.gpus.count:
        return False
    busy_fraction, fractions = facts.busy_host_fraction, facts.memory_fractions
    if busy_fraction is None or np.all(np.isnan(fractions)):
        return False
    has_memory = float(np.nanmax(fractions)) <= limits.tuning_memory_fraction_max
    return busy_fraction <= limits.tuning_host_fraction_max and has_memory


def _is_steady(facts: JobFacts, limits: Limits) -> bool:
    """Steady over the timeline, and not by buckets that hide short bursts: those show as idle seconds."""
    seen = phases(facts, limits)
    if seen is None or course(seen, limits) is not Course.STEADY:
        return False
    return facts.idle_fraction is not None and facts.idle_fraction <= limits.tuning_idle_fraction_max
