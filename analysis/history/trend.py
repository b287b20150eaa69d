"""Whether GPU use gets better: the Theil-Sen slope of weekly medians, accepted only if a sign test is significant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import median

JOBS_MIN = 5
"""Fewer counted jobs show no trend (domain definitions, section 7, 2026-11)."""

CHANCE_MAX = 0.05
"""A direction that chance alone would produce more often than this counts as steady."""


class Direction(StrEnum):
    IMPROVING = "improving"
    STEADY = "steady"
    DECLINING = "declining"
    TOO_FEW = "too few jobs"


@dataclass(frozen=True)
class Trend:
    """`points_a_week` is how much the weekly median of GPU use typically changes; None with too few jobs."""

    direction: Direction
    points_a_week: float | None = None


def trend(weekly_medians: Sequence[float | None], jobs: int) -> Trend:
    """The trend of weekly medians in percent, None for a week without jobs.

    >>> trend([5.0 * week for week in range(12)], 20).direction.value
    'improving'
    >>> trend([50.0, None, 50.0], 20).direction.value
    'steady'
    >>> trend([10.0, 80.0], 4).direction.value
    'too few jobs'
    """
    points = [(week, value) for week, value in enumerate(weekly_medians) if value is not None]
    if jobs < JOBS_MIN or len(points) < 2:
        return Trend(Direction.TOO_FEW)
    slope = median((later - sooner) / (b - a) for (a, sooner), (b, later) in combinations(points, 2))
    if slope == 0 or _chance([value for _, value in points]) > CHANCE_MAX:
        return Trend(Direction.STEADY, slope)
    return Trend(Direction.IMPROVING if slope > 0 else Direction.DECLINING, slope)


def _chance(values: Sequence[float]) -> float:
    """Cox and Stuart's sign test: how often chance alone would give this many rises or falls, 0..1, two-sided.

    Each value of the first half is compared with its partner in the second half; equal pairs are ignored.

    >>> _chance([1.0, 2.0, 3.0, 4.0])
    0.5
    """
    half = len(values) // 2
    pairs = list(zip(values[:half], values[len(values) - half :], strict=True))
    rises = sum(later > sooner for sooner, later in pairs)
    falls = sum(later < sooner for sooner, later in pairs)
    told = rises + falls
    if told == 0:
        return 1.0
    tail = sum(math.comb(told, k) for k in range(min(rises, falls) + 1)) * 0.5**told
    return min(2 * tail, 1.0)
