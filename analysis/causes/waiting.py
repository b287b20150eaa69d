"""GPUs that wait for the host, for the work to begin or for the job to end."""

import numpy as np

from analysis.facts import JobFacts, divide
from analysis.findings import Finding, FindingCode, confidence, counted, margin_above, margin_below
from analysis.phases import phases, span_percent
from analysis.thresholds import LIMITS, Limits


def cpu_bottleneck(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The working GPUs wait while most of the job's cores are busy, and not just one of each GPU's rank."""
    util_percent, busy_fraction = span_percent(facts, limits), facts.busy_host_fraction
    if util_percent is None or busy_fraction is None or not np.any(facts.did_work):
        return None
    if util_percent >= limits.efficient_percent or busy_fraction < limits.busy_host_fraction:
        return None
    waits_for_gpu = float(np.sum(facts.hosts.ranks)) <= facts.allocated_gpus
    if waits_for_gpu and pinned_cores_per_rank(facts, limits) is not None:
        return None
    busy, allocated = facts.cores
    return Finding(
        FindingCode.CPU_BOTTLENECK,
        confidence(
            facts.coverage_fraction,
            margin_above(busy_fraction, limits.busy_host_fraction),
            margin_below(util_percent, limits.efficient_percent),
        ),
        {
            "gpu_util_percent": util_percent,
            "cores_allocated": round(float(np.sum(allocated))),
            "busy_cores": float(np.sum(busy)),
            "busy_fraction": busy_fraction,
        },
    )


def pinned_cores_per_rank(facts: JobFacts, limits: Limits = LIMITS) -> float | None:
    """Busy cores of each rank where every node shows about one, else None.

    A serial part looks like this, and so does every rank that waits in MPI or HIP: an indication, not a cause.
    """
    hosts = facts.hosts
    per_rank = divide(hosts.busy_cores_avg, hosts.ranks)
    if not per_rank.size or np.any(np.isnan(per_rank)):
        return None
    lowest, highest = float(np.min(per_rank)), float(np.max(per_rank))
    if lowest < limits.pinned_cores_per_rank_min or highest > limits.pinned_cores_per_rank_max:
        return None
    return float(np.mean(per_rank))


def host_oversubscription(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """More threads than cores on some node, tasks that queue for a core, and GPUs that are slowed down by it."""
    util_percent = span_percent(facts, limits)
    if util_percent is None or util_percent >= limits.efficient_percent:
        return None
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


def late_start(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The GPUs had nothing to do for the first part of the run."""
    return _idle_edge(FindingCode.LATE_START, facts, limits)


def idle_tail(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The GPUs had nothing to do for the last part of the run."""
    return _idle_edge(FindingCode.IDLE_TAIL, facts, limits)


def _idle_edge(code: FindingCode, facts: JobFacts, limits: Limits) -> Finding | None:
    seen = phases(facts, limits)
    if seen is None:
        return None
    idle_s = seen.late_start_s if code is FindingCode.LATE_START else seen.idle_tail_s
    if facts.elapsed_s <= 0 or idle_s < limits.edge_idle_s:
        return None
    idle_fraction = min(idle_s / facts.elapsed_s, 1.0)
    if idle_fraction < limits.edge_idle_fraction:
        return None
    return Finding(
        code,
        counted(min(facts.coverage_fraction, seen.measured_fraction)),
        {"idle_s": idle_s, "idle_fraction": idle_fraction, "elapsed_s": facts.elapsed_s},
    )
