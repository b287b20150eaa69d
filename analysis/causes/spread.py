"""Use that is spread unevenly, or over too many of the requested GPUs."""

import numpy as np
from numpy.typing import NDArray

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode, confidence, counted, margin_above, margin_below
from analysis.naming import gpu_list
from analysis.phases import span_percent
from analysis.thresholds import LIMITS, Limits
from analysis.turns import GpuTurns
from analysis.validation import module_groups
from metrics.series import Floats

HELD_MEMORY_GB = 1.0
"""A process that opened a GPU holds some hundred MB of it (HIP, CUDA context); more is data."""


def no_gpu_use(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Every GPU idle for nearly the whole job, and none of them worked for more than some minutes."""
    if not facts.gpus.count or not np.all(facts.is_idle) or np.any(facts.did_work):
        return None
    evidence: dict[str, float | int | str] = {
        "gpus": facts.gpus.count,
        "idle_fraction": float(np.min(facts.idle_fractions)),
        "elapsed_s": facts.elapsed_s,
    }
    if facts.busy_cores is not None:
        evidence["busy_cores"] = facts.busy_cores
    return Finding(FindingCode.NO_GPU_USE, counted(facts.coverage_fraction), evidence)


def parallelism_mismatch(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """At most half of several GPUs work at any time: the others are nearly idle, or they take turns."""
    if facts.gpus.count < 2:
        return None
    return _others_idle(facts, limits) or _in_turns(facts, limits)


def _others_idle(facts: JobFacts, limits: Limits) -> Finding | None:
    util_percent, gpus = facts.gpus.avg_util, facts.gpus.count
    is_active = util_percent > limits.active_gpu_percent
    active, requested = int(np.sum(is_active)), gpus - facts.unasked_gpus
    if active == 0 or active > requested * limits.active_share_max:
        return None
    highest_percent = float(np.max(util_percent[~is_active]))
    if highest_percent > limits.nearly_idle_percent:
        return None
    active_percent = float(np.mean(util_percent[is_active]))
    # Counts are whole: the first count for which the rule no longer holds is the threshold.
    first_not_held = int(requested * limits.active_share_max) + 1
    return Finding(
        FindingCode.PARALLELISM_MISMATCH,
        confidence(
            facts.coverage_fraction,
            margin_below(active, first_not_held),
            margin_above(active_percent, limits.active_gpu_percent, 100.0),
            margin_below(highest_percent, limits.nearly_idle_percent),
        ),
        {
            "gpus": gpus,
            "active_gpus": active,
            "active_util_percent": active_percent,
            "inactive_util_percent": float(np.mean(util_percent[~is_active])),
            "threshold_percent": limits.active_gpu_percent,
            **_pattern(facts, is_active),
        },
    )


def _pattern(facts: JobFacts, is_active: NDArray[np.bool_]) -> dict[str, float | int | str]:
    """What kind of mismatch it is, as far as ranks, modules and memory show it."""
    gpus = facts.gpus
    in_node = np.bincount(gpus.node_index, weights=is_active, minlength=len(facts.nodes))
    has_work = in_node > 0
    ranks = facts.hosts.ranks[has_work]
    if np.all(ranks >= 2 * in_node[has_work]):
        return {
            "pattern": "ranks_share_gpus",
            "ranks": int(np.sum(ranks)),
            "ranks_per_node": int(np.max(ranks)),
            "gpus_per_node": int(np.max(np.bincount(gpus.node_index))),
        }
    module, sizes = module_groups(gpus)
    in_module = np.bincount(module, weights=is_active)
    if np.all(sizes == 2) and np.all(in_module == 1):
        return {"pattern": "one_gpu_of_each_module"}
    if np.any(gpus.peak_mem_gb[~is_active] >= HELD_MEMORY_GB):
        return {"pattern": "memory_without_work"}
    return {"pattern": "fewer_processes"}


def _in_turns(facts: JobFacts, limits: Limits) -> Finding | None:
    turns = facts.turns
    if turns is None or not turns.is_in_turns(limits):
        return None
    return Finding(
        FindingCode.PARALLELISM_MISMATCH,
        confidence(facts.coverage_fraction, 1 - turns.at_once / turns.working),
        {
            "gpus": facts.gpus.count,
            "active_gpus": turns.at_once,
            "active_util_percent": turns.busy_percent,
            "inactive_util_percent": 0.0,
            "threshold_percent": limits.active_gpu_percent,
            "pattern": "in_turns",
        },
    )


def idle_gpus(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Some but not all GPUs idle for nearly the whole job, whatever the mean."""
    idle = facts.is_idle
    if np.sum(idle) <= facts.unasked_gpus or np.all(idle):
        return None
    return Finding(
        FindingCode.IDLE_GPUS,
        counted(facts.coverage_fraction),
        {
            "idle_gpus": int(np.sum(idle)),
            "gpus": facts.gpus.count,
            "idle_fraction": float(np.mean(facts.idle_fractions[idle])),
            "elapsed_s": facts.elapsed_s,
            "gpu_list": gpu_list(facts, idle),
        },
    )


def exclusive_node_underused(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Whole nodes are billed, and at most half of their GPUs work; a GPU that was not measured may be working."""
    if facts.partition is None or not facts.is_exclusive or not facts.gpus.count:
        return None
    held = max(facts.held.nodes * facts.partition.node.gpus, facts.gpus.count)
    is_active = facts.gpus.avg_util > limits.active_gpu_percent
    active = int(np.sum(is_active))
    not_known = max(facts.allocated_gpus - facts.gpus.count, 0)
    if active == 0 or active + not_known > held * limits.active_node_share_max:
        return None
    if np.any(facts.gpus.avg_util[~is_active] > limits.nearly_idle_percent):
        return None
    return Finding(
        FindingCode.EXCLUSIVE_NODE_UNDERUSED,
        counted(facts.coverage_fraction),
        {"active_gpus": active, "gpus": held, "nodes": facts.held.nodes, "partition": facts.record.partition},
    )


def load_imbalance(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """GPUs that worked, to very different degrees, or not for equally long: the least loaded wait for the others."""
    is_working = facts.did_work & (facts.gpus.avg_util > limits.nearly_idle_percent)
    percent = facts.gpus.avg_util[is_working]
    if percent.size < 2:
        return None
    turns = facts.turns
    if turns is not None and turns.is_in_turns(limits):
        return None
    if is_uneven(percent, limits):
        return _uneven_loads(facts, is_working, limits)
    return _stopped_early(facts, turns, limits) if turns is not None else None


def _uneven_loads(facts: JobFacts, is_working: NDArray[np.bool_], limits: Limits) -> Finding:
    percent = facts.gpus.avg_util[is_working]
    return Finding(
        FindingCode.LOAD_IMBALANCE,
        confidence(facts.coverage_fraction, margin_above(float(np.ptp(percent)), limits.uneven_points, 100.0)),
        {
            **_loads(percent),
            "gpu_list": gpu_list(facts, is_working & (facts.gpus.avg_util < np.mean(percent))),
            "pattern": "uneven",
        },
    )


def _stopped_early(facts: JobFacts, turns: GpuTurns, limits: Limits) -> Finding | None:
    early_s = turns.last_busy_s - turns.ends_s
    is_early = early_s >= max(limits.edge_idle_s, limits.edge_idle_fraction * facts.elapsed_s)
    if not np.any(is_early):
        return None
    percent = facts.gpus.avg_util[facts.did_work]
    return Finding(
        FindingCode.LOAD_IMBALANCE,
        confidence(facts.coverage_fraction, float(np.max(early_s)) / max(facts.elapsed_s, 1.0)),
        {
            **_loads(percent),
            "early_gpus": int(np.sum(is_early)),
            "early_s": float(np.max(early_s)),
            "gpu_list": gpu_list(facts, is_early),
            "pattern": "stopped_early",
        },
    )


def _loads(percent: Floats) -> dict[str, float | int | str]:
    """The use of the GPUs that worked, as evidence."""
    return {
        "active_gpus": int(percent.size),
        "lowest_util_percent": float(np.min(percent)),
        "highest_util_percent": float(np.max(percent)),
        "mean_util_percent": float(np.mean(percent)),
        "variation": variation(percent),
    }


def overscaling(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Several GPUs evenly at low use with little memory: the work would fit on fewer.

    Use is that of the part of the run in which the GPUs had work: a late start is a separate finding.
    """
    level, fractions = span_percent(facts, limits), facts.memory_fractions
    if facts.gpus.count < 2 or level is None or np.any(np.isnan(fractions)):
        return None
    peak_fraction = float(np.max(fractions))
    highest_percent, highest_fraction = _overscaling_bounds(facts, level, limits)
    if level >= highest_percent or peak_fraction >= highest_fraction:
        return None
    if not np.all(facts.did_work) or is_uneven(facts.gpus.avg_util, limits):
        return None
    return Finding(
        FindingCode.OVERSCALING,
        confidence(
            facts.coverage_fraction,
            margin_below(level, highest_percent),
            margin_below(peak_fraction, highest_fraction),
        ),
        {
            "gpus": facts.gpus.count,
            "avg_util_percent": level,
            "peak_memory_fraction": peak_fraction,
            "peak_memory_gb": float(np.max(facts.gpus.peak_mem_gb)),
        },
    )


def _overscaling_bounds(facts: JobFacts, level: float, limits: Limits) -> tuple[float, float]:
    """The use and memory below which fewer GPUs suffice: with very little memory and a mostly idle host, higher use."""
    if level < limits.low_use_percent:
        return limits.low_use_percent, limits.low_memory_fraction
    busy_fraction = facts.busy_host_fraction
    is_quiet = busy_fraction is not None and busy_fraction < limits.quiet_host_fraction
    if is_quiet and float(np.max(facts.memory_fractions)) < limits.very_low_memory_fraction:
        return limits.efficient_percent, limits.very_low_memory_fraction
    return limits.low_use_percent, limits.low_memory_fraction


def is_uneven(util_percent: Floats, limits: Limits) -> bool:
    """Whether loads differ by many points and either overall or by one that is far below or above the median."""
    spread_points = float(np.ptp(util_percent))
    if spread_points < limits.uneven_points:
        return False
    lowest, middle, highest = (float(value) for value in np.percentile(util_percent, (0, 50, 100)))
    far = limits.far_below_fraction
    is_below = middle - lowest >= limits.uneven_points and lowest <= far * middle
    is_above = highest - middle >= limits.uneven_points and middle <= far * highest
    return is_below or is_above or variation(util_percent) >= limits.uneven_variation


def variation(util_percent: Floats) -> float:
    """The coefficient of variation; 0 where all are idle."""
    mean = float(np.mean(util_percent))
    return float(np.std(util_percent)) / mean if mean > 0 else 0.0
