"""How GPU use changed over the run: idle edges, the active span between them, its thirds and its course.

Gaps count neither as busy nor as idle; what a timeline is too short to show is None or "unknown".
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from analysis.facts import JobFacts, divide
from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats

FINAL_FRACTION = 0.1
"""The end of a run: its last tenth."""


class Course(StrEnum):
    """How use changed within the active span."""

    STEADY = "steady"
    BURSTS = "bursts"
    FALLING = "falling"
    UNEVEN = "uneven"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Phases:
    """The parts of one run: idle seconds at both ends, and the mean use `(P,)` of each measured bucket between them."""

    late_start_s: float
    idle_tail_s: float
    measured_fraction: float
    span: Floats


def phases(facts: JobFacts, limits: Limits = LIMITS) -> Phases | None:
    """The phases of the GPUs that worked; None where the timeline shows no work.

    An edge is the longest stretch from the start, or to the end, that is idle on average: a single reading does not
    end it. The tail begins after the late start: no second is counted at both ends. Where the whole run is idle on
    average, its busiest bucket parts them.
    """
    use, seconds = facts.working_use, _bucket_seconds(facts)
    is_measured = ~np.isnan(use)
    if not np.any(use[is_measured] > limits.idle_util_percent):
        return None
    known, measured_s = np.where(is_measured, use, 0.0), np.where(is_measured, seconds, 0.0)
    late = _idle_buckets(known, measured_s, limits.idle_util_percent)
    if late == use.size:
        late = int(np.argmax(known))
    tail = _idle_buckets(known[late:][::-1], measured_s[late:][::-1], limits.idle_util_percent)
    span = use[late : use.size - tail]
    return Phases(
        late_start_s=float(np.sum(measured_s[:late])),
        idle_tail_s=float(np.sum(measured_s[use.size - tail :])),
        measured_fraction=min(float(np.sum(measured_s)) / facts.elapsed_s, 1.0) if facts.elapsed_s > 0 else 1.0,
        span=span[~np.isnan(span)],
    )


def span_percent(facts: JobFacts, limits: Limits = LIMITS) -> float | None:
    """Mean use of the GPUs that worked while they had work, without idle edges; None where nothing was measured.

    Without a timeline it is the mean of the seconds in which each was not idle, the most that it can have been.
    """
    seen = phases(facts, limits)
    if seen is not None and seen.span.size >= limits.span_buckets_min:
        return float(np.mean(seen.span))
    worked = facts.did_work
    if not np.any(worked):
        return facts.avg_gpu_util
    use_percent = divide(facts.gpus.avg_util[worked], 1 - np.nan_to_num(facts.idle_fractions[worked]))
    return float(np.mean(np.minimum(np.nan_to_num(use_percent, nan=100.0), 100.0)))


def thirds(seen: Phases, limits: Limits = LIMITS) -> tuple[float, float] | None:
    """Mean busy percent of the first third of the active span and of the two later ones; None for too few buckets."""
    if seen.span.size < limits.span_buckets_min:
        return None
    third = seen.span.size // 3
    return float(np.mean(seen.span[:third])), float(np.mean(seen.span[third:]))


def has_fallen(first_percent: float, later_percent: float, limits: Limits = LIMITS) -> bool:
    """Whether use dropped by enough points and by enough of what it was."""
    drop_points = first_percent - later_percent
    return drop_points >= max(limits.stall_drop_points, limits.stall_drop_fraction * first_percent)


def course(seen: Phases, limits: Limits = LIMITS) -> Course:
    """How use changed within the active span, in one word."""
    means = thirds(seen, limits)
    if means is None:
        return Course.UNKNOWN
    if _bursts(seen.span, limits) >= limits.bursts_min:
        return Course.BURSTS
    if has_fallen(*means, limits):
        return Course.FALLING
    low, high = np.percentile(seen.span, (5, 95))
    return Course.STEADY if high - low <= limits.steady_range_points else Course.UNEVEN


def stalls(seen: Phases, limits: Limits = LIMITS) -> tuple[int, float]:
    """How often work stopped within the active span, and the share of the span, 0..1, that this took.

    A stall is a stretch of buckets at rest, by what this run reaches when it works.
    """
    if seen.span.size < limits.span_buckets_min:
        return 0, 0.0
    usual_percent = float(np.percentile(seen.span, 90))
    return _stretches(seen.span <= usual_percent * limits.burst_rest_percent / limits.burst_busy_percent)


def stops(seen: Phases, limits: Limits = LIMITS) -> tuple[int, float]:
    """How often all GPUs were (nearly) idle within the active span, and the share of the span, 0..1, this took."""
    if seen.span.size < limits.span_buckets_min:
        return 0, 0.0
    return _stretches(seen.span <= limits.nearly_idle_percent)


def _stretches(holds: NDArray[np.bool_]) -> tuple[int, float]:
    """How many stretches of true buckets there are, and their share of all."""
    return int(np.sum(holds[1:] & ~holds[:-1])) + int(holds[0]), float(np.mean(holds))


def final_util_percent(facts: JobFacts) -> float | None:
    """Mean busy percent of the GPUs that worked over the end of the run; None when nothing was measured there."""
    use = facts.working_use
    if not use.size:
        return None
    end = use[-max(int(use.size * FINAL_FRACTION), 1) :]
    return float(np.nanmean(end)) if np.any(~np.isnan(end)) else None


def _bucket_seconds(facts: JobFacts) -> Floats:
    """How long each bucket `(T,)` is: the last one ends with the run."""
    step_s = facts.series.step_s
    starts_s = np.arange(facts.working_use.size) * step_s
    if facts.elapsed_s <= 0:
        return np.full(starts_s.size, step_s)
    return np.asarray(np.clip(facts.elapsed_s - starts_s, 0.0, step_s))


def _idle_buckets(use: Floats, seconds: Floats, idle_percent: float) -> int:
    """How many buckets from the first are idle on average; the last of them is idle itself."""
    is_idle = np.cumsum((use - idle_percent) * seconds) <= 0
    ends = np.flatnonzero(is_idle & (use <= idle_percent))
    return int(ends[-1]) + 1 if ends.size else 0


def _bursts(span: Floats, limits: Limits) -> int:
    """How often use rose from rest to busy, the first time included."""
    level = np.where(span >= limits.burst_busy_percent, 1, np.where(span <= limits.burst_rest_percent, -1, 0))
    level = level[level != 0]
    rises = int(np.sum((level[1:] == 1) & (level[:-1] == -1)))
    return rises + (1 if level.size and level[0] == 1 else 0)
