"""GPUs of a running job that have no work: all of them for a while, all of them from the start, or some of them."""

import numpy as np
from numpy.typing import NDArray

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.stretches import (
    IdleStretches,
    first_work_s,
    idle_stretches,
    is_heard,
    is_worth_a_word,
    last_memory_gb,
    longest_pause_s,
    mean_use,
)
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits
from analysis.naming import gpu_list


def all_gpus_idle(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """No GPU of the job has had work for half an hour or more: since their work ended, or since the start."""
    idle = _all_idle(facts, limits)
    if idle is None or _is_cpu_only(facts, idle, limits):
        return None
    return EarlyFinding(EarlyCode.ALL_GPUS_IDLE, _measured_fraction(facts), _evidence(facts, idle), is_fact=True)


def cpu_only(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """No GPU has had work since the start, and the host computes: a fact, whose cause is not known."""
    idle = _all_idle(facts, limits)
    if idle is None or not _is_cpu_only(facts, idle, limits):
        return None
    busy, allocated = facts.run.cores
    evidence = _evidence(facts, idle) | {
        "busy_cores": float(np.sum(busy)),
        "cores_allocated": round(float(np.sum(allocated))),
    }
    return EarlyFinding(EarlyCode.CPU_ONLY, _measured_fraction(facts), evidence, is_fact=True)


def some_gpus_unused(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """Some GPUs have had no work since the start of the job, for two hours or more, while others work."""
    run = facts.run
    if facts.is_interactive or run.gpus.count < 2 or not is_worth_a_word(facts, limits):
        return None
    idle = idle_stretches(facts, limits)
    unused = run.is_idle & ~run.did_work & ~(idle.has_worked & (idle.since_s > limits.idle_quiet_s))
    unused &= (idle.idle_s >= limits.unused_s) & is_heard(facts, limits)[run.gpus.node_index]
    works = _works_for_long(facts, limits)
    # Whoever requested fewer GPUs than the site allocated did not choose those that are left over.
    if not np.any(works) or int(np.sum(unused)) <= run.unasked_gpus:
        return None
    nodes = np.unique(run.gpus.node_index[unused])
    return EarlyFinding(
        EarlyCode.SOME_GPUS_UNUSED,
        _measured_fraction(facts),
        {
            "since_s": float(np.max(idle.since_s[unused])),
            "idle_s": float(np.min(idle.idle_s[unused])),
            "unused_gpus": int(np.sum(unused)),
            "working_gpus": int(np.sum(works)),
            "gpus": run.allocated_gpus,
            "nodes": int(nodes.size),
            "node": run.nodes[int(nodes[0])],
            "gpu_list": gpu_list(run, unused),
        },
        is_fact=True,
    )


def _works_for_long(facts: EarlyFacts, limits: EarlyLimits) -> NDArray[np.bool_]:
    """Which GPUs `(G,)` work now and have done so for half an hour."""
    since_s = facts.gpu_until_s - limits.unused_others_s
    works = mean_use(facts, limits.unused_others_s) >= limits.working_percent
    return np.asarray(works & (first_work_s(facts, limits) <= since_s), dtype=bool)


def _all_idle(facts: EarlyFacts, limits: EarlyLimits) -> IdleStretches | None:
    """The idle stretches of all allocated GPUs, where each is known and long enough; a node that is not heard any more
    decides nothing."""
    run = facts.run
    if not run.gpus.count or run.gpus.count < run.allocated_gpus or not is_worth_a_word(facts, limits):
        return None
    if len(run.nodes) < (run.record.node_count or len(run.record.nodes)) or not np.all(is_heard(facts, limits)):
        return None
    idle = idle_stretches(facts, limits)
    if np.any(np.isnan(idle.idle_s)) or float(np.min(idle.idle_s)) < _least_s(facts, idle, limits):
        return None
    return idle


def _least_s(facts: EarlyFacts, idle: IdleStretches, limits: EarlyLimits) -> float:
    """How long all GPUs must be idle before it is worth a word."""
    if facts.is_interactive:
        return limits.idle_interactive_s
    has_worked, cores = bool(np.any(idle.has_worked)), _busy_cores_of_a_node(facts)
    is_quiet, is_known = cores < limits.quiet_cores, bool(np.isfinite(cores))
    if is_quiet:
        has_ended = has_worked and _has_released_memory(facts, limits)
        least_s = limits.idle_quiet_s if has_ended else limits.idle_s
    elif is_known and _computes_now(facts, limits):
        least_s = limits.idle_computing_s if has_worked else limits.idle_start_computing_s
    elif is_known and not has_worked:
        least_s = limits.idle_computing_s
    else:
        least_s = limits.idle_s
    return max(least_s, limits.pause_factor * longest_pause_s(facts, limits)) if has_worked else least_s


def _has_released_memory(facts: EarlyFacts, limits: EarlyLimits) -> bool:
    """Whether no process holds memory of any GPU any more; what was not measured is not known to be released."""
    return bool(np.all(last_memory_gb(facts) < limits.released_gb))


def _computes_now(facts: EarlyFacts, limits: EarlyLimits) -> bool:
    """Whether the hosts kept about a core, and a tenth of the cores, busy in the last stretch."""
    busy = float(np.nansum(facts.recent.busy_cores))
    return busy >= max(limits.busy_cores_min, limits.busy_cores_fraction * float(np.nansum(facts.run.cores[1])))


def _busy_cores_of_a_node(facts: EarlyFacts) -> float:
    """Busy cores of the busiest node in its last stretch; infinite where a node did not say."""
    return float(np.max(np.where(np.isnan(facts.recent.busy_cores), np.inf, facts.recent.busy_cores), initial=0.0))


def _is_cpu_only(facts: EarlyFacts, idle: IdleStretches, limits: EarlyLimits) -> bool:
    """Whether no GPU ever worked while at least about a core, and a tenth of the cores, did.

    A job of which the other word holds keeps it: a second one would state the same.
    """
    if EarlyCode.ALL_GPUS_IDLE in facts.held and EarlyCode.CPU_ONLY not in facts.held:
        return False
    busy_fraction, busy_cores = facts.run.busy_host_fraction, facts.run.busy_cores
    if np.any(idle.has_worked) or facts.is_interactive or busy_fraction is None or busy_cores is None:
        return False
    return busy_cores >= limits.busy_cores_min and busy_fraction >= limits.busy_cores_fraction


def _evidence(facts: EarlyFacts, idle: IdleStretches) -> dict[str, float | int | str]:
    """When the last GPU became idle, for how long at least, and whether any worked before."""
    return {
        "since_s": float(np.max(idle.since_s)),
        "idle_s": float(np.min(idle.idle_s)),
        "gpus": facts.run.gpus.count,
        "nodes": len(facts.run.nodes),
        "node": facts.run.nodes[int(facts.run.gpus.node_index[int(np.argmax(idle.since_s))])],
        "worked_before": int(np.any(idle.has_worked)),
    }


def _measured_fraction(facts: EarlyFacts) -> float:
    """What was counted is as sure as it was measured; until each node's own last sample."""
    run = facts.run
    until_s = facts.gpu_until_s
    known = float(np.nansum(np.minimum(run.measured_s, until_s)))
    whole = float(np.nansum(until_s)) or 1.0
    return min(known / whole, 1.0)
