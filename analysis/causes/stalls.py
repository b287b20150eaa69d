"""GPUs that stop for files or for each other: once and permanently, repeatedly, or all the time."""

from dataclasses import dataclass

import numpy as np

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode, confidence, margin_above
from analysis.phases import Phases, has_fallen, phases, span_percent, stalls, stops, thirds
from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats

TOGETHER_FRACTION = 0.9
"""All GPUs but a few."""


@dataclass(frozen=True)
class Waits:
    """How the hosts waited, each a share 0..1 or None: I/O wait of the cores, I/O pressure of the time."""

    iowait_fraction: float | None
    io_pressure_fraction: float | None
    idle_fraction: float | None

    @property
    def io_fraction(self) -> float:
        return max(self.iowait_fraction or 0.0, self.io_pressure_fraction or 0.0)

    @property
    def measured_io_fraction(self) -> float | None:
        """The same; None where neither was measured."""
        return None if self.iowait_fraction is None and self.io_pressure_fraction is None else self.io_fraction

    @property
    def evidence(self) -> dict[str, float]:
        named = {"iowait_fraction": self.iowait_fraction, "io_pressure_fraction": self.io_pressure_fraction}
        return {name: value for name, value in named.items() if value is not None}


def waits_of(facts: JobFacts) -> Waits:
    """The waiting of all nodes, as their mean."""
    hosts = facts.hosts
    return Waits(_mean(hosts.iowait_fraction), share_of_run(hosts.pressure_io_s, facts), _mean(hosts.idle_fraction))


def share_of_run(seconds: Floats, facts: JobFacts) -> float | None:
    """The mean of the nodes `(N,)` as a share of the run time, at most 1."""
    mean_s = _mean(seconds)
    return None if mean_s is None or facts.elapsed_s <= 0 else min(mean_s / facts.elapsed_s, 1.0)


def io_or_sync_stall(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Use that falls or stops repeatedly while something waits: for files, or for each other."""
    seen, waits = phases(facts, limits), waits_of(facts)
    if seen is None:
        return None
    return (
        _fallen(facts, seen, waits, limits)
        or _again_and_again(facts, seen, waits, limits)
        or _waiting_for_files(facts, waits, limits)
    )


def _fallen(facts: JobFacts, seen: Phases, waits: Waits, limits: Limits) -> Finding | None:
    """Use fell after the first third of the active span and stayed low."""
    means = thirds(seen, limits)
    if means is None or not has_fallen(*means, limits) or not _fall_together(facts, limits):
        return None
    points_to = _points_to(facts, seen, waits, limits)
    if not points_to:
        return None
    first_percent, later_percent = means
    drop_points = first_percent - later_percent
    margins = (
        margin_above(drop_points, limits.stall_drop_points, 100.0),
        margin_above(drop_points / first_percent, limits.stall_drop_fraction),
    )
    return Finding(
        FindingCode.IO_OR_SYNC_STALL,
        confidence(facts.coverage_fraction, *margins, *((1.0,) if points_to == "io" else ())),
        {
            "pattern": "fallen",
            "first_third_percent": first_percent,
            "later_percent": later_percent,
            "drop_points": drop_points,
            "lost_fraction": 2 / 3 * drop_points / first_percent,
            **waits.evidence,
            "points_to": points_to,
        },
    )


def _again_and_again(facts: JobFacts, seen: Phases, waits: Waits, limits: Limits) -> Finding | None:
    """Stalls between stretches of work, each of them on all GPUs."""
    is_io = waits.io_fraction >= limits.io_wait_fraction
    # Without waiting for I/O, only GPUs that stop completely count as stalled: others do work of another kind.
    count, stalled_fraction = stalls(seen, limits) if is_io else stops(seen, limits)
    if count < limits.bursts_min or stalled_fraction < limits.stalled_fraction:
        return None
    if not is_io and not _is_quiet_together(facts, waits, limits):
        return None
    return Finding(
        FindingCode.IO_OR_SYNC_STALL,
        confidence(facts.coverage_fraction, margin_above(stalled_fraction, limits.stalled_fraction)),
        {
            "pattern": "again_and_again",
            "stalls": count,
            "lost_fraction": stalled_fraction,
            **waits.evidence,
            "points_to": "io" if is_io else "synchronisation",
        },
    )


def _waiting_for_files(facts: JobFacts, waits: Waits, limits: Limits) -> Finding | None:
    """Waiting for files takes so long that the GPUs lack data, though no single stall is long enough to be visible."""
    level = span_percent(facts, limits)
    if level is None or level >= limits.efficient_percent or waits.io_fraction < limits.io_bound_fraction:
        return None
    return Finding(
        FindingCode.IO_OR_SYNC_STALL,
        confidence(facts.coverage_fraction, margin_above(waits.io_fraction, limits.io_bound_fraction)),
        {
            "pattern": "steady",
            "gpu_util_percent": level,
            "lost_fraction": min(waits.io_fraction, 1 - level / 100),
            **waits.evidence,
            "points_to": "io",
        },
    )


def _points_to(facts: JobFacts, seen: Phases, waits: Waits, limits: Limits) -> str:
    """The cause of a fall: "io", "synchronisation", or "" where nothing waits and it may be another phase."""
    if waits.io_fraction >= limits.io_wait_fraction:
        return "io"
    is_stall = _is_quiet_together(facts, waits, limits) and not _is_other_phase(facts, seen, limits)
    return "synchronisation" if is_stall else ""


def _is_quiet_together(facts: JobFacts, waits: Waits, limits: Limits) -> bool:
    """Whether several GPUs wait while their hosts have little to do."""
    is_quiet = waits.idle_fraction is not None and waits.idle_fraction >= limits.idle_host_fraction
    return is_quiet and int(np.sum(facts.did_work)) > 1


def _is_other_phase(facts: JobFacts, seen: Phases, limits: Limits) -> bool:
    """Whether the later part is work of another kind: other memory, or a steady use well above that of a stall."""
    later = seen.span[seen.span.size // 3 :]
    low, high = (float(value) for value in np.percentile(later, (5, 95)))
    if low > limits.burst_rest_percent and high - low <= limits.steady_range_points:
        return True
    first_gb, later_gb = _memory_thirds(facts)
    if first_gb is None or later_gb is None or first_gb <= 0:
        return False
    return abs(later_gb / first_gb - 1) >= limits.phase_memory_fraction


def _memory_thirds(facts: JobFacts) -> tuple[float | None, float | None]:
    """Mean GPU memory of the second sixth of the run, when it is loaded, and of the last third."""
    mem_gb = facts.series.mem_gb[:, facts.did_work]
    length = mem_gb.shape[0]
    return _mean(mem_gb[length // 6 : max(length // 3, 1)]), _mean(mem_gb[2 * length // 3 :])


def _fall_together(facts: JobFacts, limits: Limits) -> bool:
    """Whether (nearly) all GPUs that worked fell: trials that end one by one do not."""
    util = facts.series.util[:, facts.did_work]
    third = util.shape[0] // 3
    first, later = _means(util[:third]), _means(util[third:])
    drop = first - later
    fell = drop >= np.maximum(limits.stall_drop_points, limits.stall_drop_fraction * first)
    return float(np.mean(fell)) >= TOGETHER_FRACTION if fell.size else False


def _means(util: Floats) -> Floats:
    """Mean of each GPU `(G,)` over the buckets it has."""
    is_known = ~np.isnan(util)
    sums: Floats = np.sum(util, axis=0, where=is_known)
    means: Floats = sums / np.maximum(np.count_nonzero(is_known, axis=0), 1)
    return means


def _mean(values: Floats) -> float | None:
    is_known = ~np.isnan(values)
    return float(np.mean(values[is_known])) if np.any(is_known) else None
