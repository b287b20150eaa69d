"""GPUs that wait: for the host, for data, for each other, for the work to begin or for the job to end."""

from __future__ import annotations

import numpy as np

from analysis.facts import JobFacts, divide
from analysis.findings import Finding, FindingCode, confidence, margin_above, margin_below, margin_within
from analysis.idle import is_idle
from analysis.phases import has_fallen, phases, thirds
from analysis.thresholds import LIMITS, Limits


def cpu_bottleneck(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The working GPUs wait while the host is busy: most cores, or exactly one core of every rank."""
    working = ~is_idle(facts, limits)
    cores, busy_cores = facts.hosts.cores_allocated, facts.hosts.busy_cores_avg
    is_known = ~np.isnan(cores) & ~np.isnan(busy_cores) & (cores > 0)
    if not np.any(working) or not np.any(is_known):
        return None
    util_percent = float(np.mean(facts.gpus.avg_util[working]))
    if util_percent >= limits.low_use_percent:
        return None
    cores_total, busy_total = float(np.sum(cores[is_known])), float(np.sum(busy_cores[is_known]))
    evidence: dict[str, float | int | str] = {
        "gpu_util_percent": util_percent,
        "cores_allocated": round(cores_total),
        "busy_cores": busy_total,
        "busy_fraction": min(busy_total / cores_total, 1.0),
    }
    margins = {"busy_host": margin_above(min(busy_total / cores_total, 1.0), limits.busy_host_fraction)}
    ranks = facts.hosts.ranks[is_known]
    if np.all(ranks > 0):
        per_rank = busy_cores[is_known] / ranks
        evidence |= {"ranks": int(np.sum(ranks)), "busy_cores_per_rank": busy_total / float(np.sum(ranks))}
        margins["one_core_per_rank"] = min(
            margin_within(float(cores), limits.pinned_cores_per_rank_min, limits.pinned_cores_per_rank_max)
            for cores in (np.min(per_rank), np.max(per_rank))
        )
    pattern, margin = max(margins.items(), key=lambda item: item[1])
    if margin < 0:
        return None
    return Finding(
        FindingCode.CPU_BOTTLENECK,
        confidence(facts.coverage_fraction, margin, margin_below(util_percent, limits.low_use_percent)),
        evidence | {"pattern": pattern},
    )


def host_oversubscription(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """More threads than cores on some node, and tasks that queue for a core: threads that only sleep do no harm."""
    hosts = facts.hosts
    threads = hosts.ranks * hosts.threads_per_rank
    elapsed_s = np.full(hosts.pressure_cpu_s.shape, facts.elapsed_s)
    pressure = np.minimum(divide(hosts.pressure_cpu_s, elapsed_s), 1.0)
    per_core = divide(threads, hosts.cores_allocated)
    is_held = (per_core > 1) & (pressure >= limits.cpu_pressure_fraction)
    if not np.any(is_held):
        return None
    worst = int(np.argmax(np.where(is_held, pressure, -1.0)))
    return Finding(
        FindingCode.HOST_OVERSUBSCRIPTION,
        confidence(
            facts.host_coverage_fraction,
            margin_above(float(pressure[worst]), limits.cpu_pressure_fraction),
            1 - 1 / float(per_core[worst]),
        ),
        {
            "ranks": round(float(hosts.ranks[worst])),
            "threads": round(float(threads[worst])),
            "cores_allocated": round(float(hosts.cores_allocated[worst])),
            "cpu_pressure_fraction": float(pressure[worst]),
            "node": facts.nodes[worst],
        },
    )


def io_or_sync_stall(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """GPU use falls after the first third of the active span and stays low."""
    seen = phases(facts, limits)
    means = thirds(seen, limits) if seen else None
    if means is None or not has_fallen(*means, limits):
        return None
    first_percent, later_percent = means
    drop_points = first_percent - later_percent
    points_to, waits = _stall_cause(facts, limits)
    margins = [
        margin_above(drop_points, limits.stall_drop_points, 100.0),
        margin_above(drop_points / first_percent, limits.stall_drop_fraction),
    ]
    if points_to == "io":
        margins.append(1.0)
    return Finding(
        FindingCode.IO_OR_SYNC_STALL,
        confidence(facts.coverage_fraction, *margins),
        {
            "first_third_percent": first_percent,
            "later_percent": later_percent,
            "drop_points": drop_points,
            **waits,
            "points_to": points_to,
        },
    )


def late_start(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The GPUs had nothing to do for the first part of the run."""
    seen = phases(facts, limits)
    return (
        _idle_edge(FindingCode.LATE_START, facts, seen.late_start_s, seen.measured_fraction, limits) if seen else None
    )


def idle_tail(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The GPUs had nothing to do for the last part of the run."""
    seen = phases(facts, limits)
    return _idle_edge(FindingCode.IDLE_TAIL, facts, seen.idle_tail_s, seen.measured_fraction, limits) if seen else None


def _idle_edge(
    code: FindingCode, facts: JobFacts, idle_s: float, measured_fraction: float, limits: Limits
) -> Finding | None:
    if facts.elapsed_s <= 0 or idle_s < limits.edge_idle_s:
        return None
    idle_fraction = min(idle_s / facts.elapsed_s, 1.0)
    if idle_fraction < limits.edge_idle_fraction:
        return None
    return Finding(
        code,
        confidence(
            min(facts.coverage_fraction, measured_fraction),
            margin_above(idle_fraction, limits.edge_idle_fraction),
            1 - limits.edge_idle_s / idle_s,
        ),
        {"idle_s": idle_s, "idle_fraction": idle_fraction, "elapsed_s": facts.elapsed_s},
    )


def _stall_cause(facts: JobFacts, limits: Limits) -> tuple[str, dict[str, float]]:
    """What the host says of a stall ("io", "synchronisation", "unclear"), and the shares it says it by."""
    hosts, waits = facts.hosts, {}
    if np.any(~np.isnan(hosts.iowait_fraction)):
        waits["iowait_fraction"] = float(np.nanmean(hosts.iowait_fraction))
    if np.any(~np.isnan(hosts.pressure_io_s)) and facts.elapsed_s > 0:
        waits["io_pressure_fraction"] = min(float(np.nanmean(hosts.pressure_io_s)) / facts.elapsed_s, 1.0)
    if any(share >= limits.io_wait_fraction for share in waits.values()):
        return "io", waits
    is_idle_host = (
        float(np.nanmean(hosts.idle_fraction)) >= limits.idle_host_fraction
        if np.any(~np.isnan(hosts.idle_fraction))
        else False
    )
    return ("synchronisation" if waits and is_idle_host else "unclear"), waits
