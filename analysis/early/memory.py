"""Memory of a running job that heads for its end: the host's by a line with its error, the GPUs' likewise."""

import numpy as np

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.stretches import is_heard, last_memory_gb, mean_use
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits
from analysis.early.trend import Trend, steady_rise
from analysis.facts import divide
from analysis.findings import confidence, margin_above, margin_below
from analysis.naming import gpu_list
from metrics.series import Floats

MEMORY_GPUS_MAX = 64
"""Of very many GPUs the fullest are looked at: each costs a fit."""


def host_memory_filling(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """Memory of some node, without page cache, that reaches its limit before the time limit, at 95 % certainty."""
    found = []
    heard = is_heard(facts, limits)
    for node, course in enumerate(facts.recent.memory):
        limit_gb = float(facts.run.hosts.memory_limit_gb[node])
        is_high = course.gb.size > 0 and course.gb[-1] >= limits.host_memory_fraction_min * limit_gb
        if not heard[node] or not limit_gb > 0 or not is_high:
            continue
        trend = steady_rise(course.at_s, course.gb, limits)
        if trend and _will_be_full(facts, trend, limit_gb, _fraction_min(trend, limits), limits):
            found.append((trend.full_in_s(limit_gb)[1], node, trend, limit_gb))
    if not found:
        return None
    _, node, trend, limit_gb = min(found, key=lambda one: one[:2])
    if not _is_at_work(facts, trend, limits):
        return None
    evidence = _evidence(trend, limit_gb) | {"node": facts.run.nodes[node], "nodes": len(found)}
    return EarlyFinding(EarlyCode.HOST_MEMORY_FILLING, _sure(facts, trend, limit_gb, limits), evidence)


def gpu_memory_full(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """Memory of some GPU that grew steadily, has little left, and at 95 % certainty reaches its capacity in time.

    A pool that a framework holds from the start, and a cache that filled and stays full, do not grow.
    """
    series, run = facts.run.series, facts.run
    if not series.length or facts.is_interactive:
        return None
    fractions = divide(last_memory_gb(facts), run.memory_capacity_gb)
    fractions[~is_heard(facts, limits)[run.gpus.node_index]] = np.nan
    at_s = np.asarray((np.arange(series.length) + 0.5) * series.step_s, dtype=np.float64)
    full = np.flatnonzero(fractions >= limits.gpu_memory_fraction_min)
    found: list[tuple[float, int, Trend]] = []
    for gpu in full[np.argsort(-fractions[full], kind="stable")][:MEMORY_GPUS_MAX].tolist():
        mem_gb, capacity_gb = series.mem_gb[:, gpu], float(run.memory_capacity_gb[gpu])
        trend = steady_rise(at_s, mem_gb, limits)
        if trend is None or _began_full(mem_gb, capacity_gb, limits):
            continue
        if _will_be_full(facts, trend, capacity_gb, limits.gpu_memory_fraction_min, limits):
            found.append((trend.full_in_s(capacity_gb)[1], gpu, trend))
    if not found:
        return None
    _, gpu, trend = min(found, key=lambda one: one[:2])
    if not _is_at_work(facts, trend, limits):
        return None
    capacity_gb = float(run.memory_capacity_gb[gpu])
    is_found = np.isin(np.arange(run.gpus.count), [place for _, place, _ in found])
    evidence = _evidence(trend, capacity_gb) | {
        "node": run.nodes[int(run.gpus.node_index[gpu])],
        "full_gpus": len(found),
        "gpus": run.gpus.count,
        "gpu_list": gpu_list(run, is_found),
    }
    return EarlyFinding(EarlyCode.GPU_MEMORY_FULL, _sure(facts, trend, capacity_gb, limits), evidence)


def _will_be_full(facts: EarlyFacts, trend: Trend, limit_gb: float, fraction_min: float, limits: EarlyLimits) -> bool:
    """Whether even the slowest rise of the range reaches the limit before the time limit, and not too far ahead."""
    if facts.left_s is None or trend.now_gb < fraction_min * limit_gb:
        return False
    at_latest_s = trend.full_in_s(limit_gb)[1]
    return at_latest_s <= min(facts.left_s, limits.trend_ahead_factor * trend.seen_s)


def _fraction_min(trend: Trend, limits: EarlyLimits) -> float:
    """From which share of the limit on a rise of host memory is no data that are kept by design."""
    is_long = trend.seen_s >= limits.trend_long_s
    return limits.host_memory_fraction_min if is_long else limits.host_memory_full_fraction


def _is_at_work(facts: EarlyFacts, trend: Trend, limits: EarlyLimits) -> bool:
    """Whether some GPU worked meanwhile, so that it is not data being loaded."""
    return bool(np.any(mean_use(facts, trend.seen_s) >= limits.memory_working_percent))


def _began_full(mem_gb: Floats, capacity_gb: float, limits: EarlyLimits) -> bool:
    """Whether most of the capacity was taken in the first quarter already."""
    first = mem_gb[: max(mem_gb.size // 4, 1)]
    known = first[~np.isnan(first)]
    return not known.size or float(np.max(known)) > limits.gpu_memory_first_fraction_max * capacity_gb


def _sure(facts: EarlyFacts, trend: Trend, limit_gb: float, limits: EarlyLimits) -> float:
    """More the nearer the end is, as a share of how far a line is continued, the fuller the memory, and the longer the
    rise was seen."""
    ahead_s = min(facts.left_s or np.inf, limits.trend_ahead_factor * trend.seen_s)
    return confidence(
        1.0,
        margin_below(trend.full_in_s(limit_gb)[1], ahead_s),
        margin_above(trend.now_gb / limit_gb, limits.host_memory_fraction_min),
        margin_above(trend.seen_s, limits.trend_s, 2 * limits.trend_long_s),
    )


def _evidence(trend: Trend, limit_gb: float) -> dict[str, float | int | str]:
    low_s, high_s = trend.full_in_s(limit_gb)
    return {
        "since_s": trend.since_s,
        "now_gb": trend.now_gb,
        "limit_gb": limit_gb,
        "slope_gb_per_h": trend.slope_gb_per_h,
        "full_in_s_low": low_s,
        "full_in_s_high": high_s,
    }
