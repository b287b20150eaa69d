"""Use that is spread unevenly, or too thin, over the GPUs that were asked for."""

from __future__ import annotations

import numpy as np

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode, confidence, margin_above, margin_below
from analysis.idle import gpu_list, is_idle
from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats


def no_gpu_use(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Every GPU idle for nearly the whole job."""
    if not facts.gpus.count or not np.all(is_idle(facts, limits)):
        return None
    idle_fraction = float(np.min(facts.idle_fractions))
    return Finding(
        FindingCode.NO_GPU_USE,
        confidence(facts.coverage_fraction, margin_above(idle_fraction, limits.idle_gpu_fraction)),
        {"gpus": facts.gpus.count, "idle_fraction": idle_fraction, "elapsed_s": facts.elapsed_s},
    )


def parallelism_mismatch(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """At most half of several GPUs work, at least one does; even use just around the threshold is another matter."""
    util_percent, gpus = facts.gpus.avg_util, facts.gpus.count
    is_active = util_percent > limits.active_gpu_percent
    active = int(np.sum(is_active))
    asked = gpus - facts.unasked_gpus
    if gpus < 2 or active == 0 or active > asked * limits.active_share_max:
        return None
    if variation(util_percent) < limits.uneven_variation:
        return None
    active_percent = float(np.mean(util_percent[is_active]))
    inactive_percent = float(np.mean(util_percent[~is_active]))
    # Counts are whole: the first count for which the rule no longer holds is the threshold.
    first_not_held = int(asked * limits.active_share_max) + 1
    return Finding(
        FindingCode.PARALLELISM_MISMATCH,
        confidence(
            facts.coverage_fraction,
            margin_below(active, first_not_held),
            margin_above(active_percent, limits.active_gpu_percent, 100.0),
            margin_below(inactive_percent, limits.active_gpu_percent),
        ),
        {
            "gpus": gpus,
            "active_gpus": active,
            "active_util_percent": active_percent,
            "inactive_util_percent": inactive_percent,
            "threshold_percent": limits.active_gpu_percent,
        },
    )


def idle_gpus(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Some but not all GPUs idle for nearly the whole job, however good the mean."""
    idle = is_idle(facts, limits)
    if np.sum(idle) <= facts.unasked_gpus or np.all(idle):
        return None
    idle_fraction = float(np.mean(facts.idle_fractions[idle]))
    return Finding(
        FindingCode.IDLE_GPUS,
        confidence(facts.coverage_fraction, margin_above(idle_fraction, limits.idle_gpu_fraction)),
        {
            "idle_gpus": int(np.sum(idle)),
            "gpus": facts.gpus.count,
            "idle_fraction": idle_fraction,
            "elapsed_s": facts.elapsed_s,
            "gpu_list": gpu_list(facts, idle),
        },
    )


def exclusive_node_underused(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Whole nodes are billed, and at most half of their GPUs work; a GPU that was not measured may be working."""
    if facts.partition is None or not facts.is_exclusive or not facts.gpus.count:
        return None
    held = max(facts.held.nodes * facts.partition.node.gpus, facts.gpus.count)
    active = int(np.sum(facts.gpus.avg_util > limits.active_gpu_percent))
    not_known = max(facts.allocated_gpus - facts.gpus.count, 0)
    if active == 0 or active + not_known > held * limits.active_node_share_max:
        return None
    first_not_held = int(held * limits.active_node_share_max) + 1
    return Finding(
        FindingCode.EXCLUSIVE_NODE_UNDERUSED,
        confidence(facts.coverage_fraction, margin_below(active + not_known, first_not_held)),
        {"active_gpus": active, "gpus": held, "nodes": facts.held.nodes, "partition": facts.record.partition},
    )


def load_imbalance(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The working GPUs are busy to very different degrees: the least loaded wait for the most loaded."""
    is_active = facts.gpus.avg_util > limits.active_gpu_percent
    active_percent = facts.gpus.avg_util[is_active]
    if active_percent.size < 2 or not is_uneven(active_percent, limits):
        return None
    lowest, highest = float(np.min(active_percent)), float(np.max(active_percent))
    spread, mean = variation(active_percent), float(np.mean(active_percent))
    is_behind = is_active & (facts.gpus.avg_util < mean)
    return Finding(
        FindingCode.LOAD_IMBALANCE,
        confidence(
            facts.coverage_fraction,
            margin_above(highest - lowest, limits.uneven_points, 100.0 - limits.active_gpu_percent),
            margin_above(spread, limits.uneven_variation),
        ),
        {
            "active_gpus": int(active_percent.size),
            "lowest_util_percent": lowest,
            "highest_util_percent": highest,
            "mean_util_percent": mean,
            "variation": spread,
            "gpu_list": gpu_list(facts, is_behind),
        },
    )


def overscaling(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Several GPUs evenly at low use with little memory: the work would fit on fewer."""
    average, fractions = facts.avg_gpu_util, facts.memory_fractions
    if facts.gpus.count < 2 or average is None or np.any(np.isnan(fractions)):
        return None
    peak_fraction = float(np.max(fractions))
    is_low = average < limits.low_use_percent and peak_fraction < limits.low_memory_fraction
    if not is_low or np.any(is_idle(facts, limits)) or is_uneven(facts.gpus.avg_util, limits):
        return None
    return Finding(
        FindingCode.OVERSCALING,
        confidence(
            facts.coverage_fraction,
            margin_below(average, limits.low_use_percent),
            margin_below(peak_fraction, limits.low_memory_fraction),
        ),
        {
            "gpus": facts.gpus.count,
            "avg_util_percent": average,
            "peak_memory_fraction": peak_fraction,
            "peak_memory_gb": float(np.max(facts.gpus.peak_mem_gb)),
        },
    )


def is_uneven(util_percent: Floats, limits: Limits) -> bool:
    return float(np.ptp(util_percent)) >= limits.uneven_points and variation(util_percent) >= limits.uneven_variation


def variation(util_percent: Floats) -> float:
    """The coefficient of variation; 0 where all are idle."""
    mean = float(np.mean(util_percent))
    return float(np.std(util_percent)) / mean if mean > 0 else 0.0
