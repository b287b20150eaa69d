"""A suggested multiplier of priority or quota: bounded, advisory, computed from the shown figures alone."""

from analysis.thresholds import LIMITS

LEAST, MOST = 0.8, 1.2
JOBS_MIN = 5
"""Fewer runs suggest nothing (as for the flag: domain, section 7)."""

NEUTRAL = 1.0
EXACT = 1e-9
"""What floating point may lose of a part of a step."""


def score_range_percent(used: float, unused: float, step: float) -> tuple[float, float]:
    """The least and the most percent of use that sums may have had before each was rounded to a multiple of the step.

    >>> score_range_percent(120.0, 380.0, 20.0), score_range_percent(0.0, 20.0, 20.0)
    ((22.0, 26.0), (0.0, 50.0))
    """
    half = step / 2 * (1 + EXACT)
    least, most = max(used - half, 0.0), used + half
    few, many = max(unused - half, 0.0), unused + half
    return round(100 * least / (least + many), 6), round(100 * most / (most + few), 6)


def multiplier(
    score_percent: float | None,
    coverage_fraction: float | None,
    jobs: int | None,
    range_percent: tuple[float, float] | None = None,
) -> float:
    """1 for an efficiency score of the class Acceptable, up to 1.2 above it, down to 0.8 below; two decimals.

    Its distance from 1 shrinks with the coverage. It is never below 1 where less than the coverage of a partial report
    was measured, and 1 where nothing was, or for fewer than `JOBS_MIN` runs. `jobs` None: enough, but not shown.
    `range_percent` are the least and the most that a score may be that was computed of rounded sums: it is 1 too where
    any of them is of the class Acceptable, so that rounding alone moves nobody.

    >>> multiplier(20.0, 0.9, 20), multiplier(85.0, 1.0, 20), multiplier(20.0, 0.7, 20), multiplier(None, 0.0, 20)
    (0.91, 1.1, 1.0, 1.0)
    >>> multiplier(38.0, 1.0, 20, (36.5, 39.9)), multiplier(38.0, 1.0, 20, (36.0, 40.0))
    (0.99, 1.0)
    """
    if score_percent is None or coverage_fraction is None or (jobs is not None and jobs < JOBS_MIN):
        return NEUTRAL
    good, poor = LIMITS.efficient_percent, LIMITS.acceptable_percent
    if range_percent and range_percent[0] <= good and range_percent[1] >= poor:
        return NEUTRAL
    over = max(score_percent - good, 0.0) / (100.0 - good)
    under = max(poor - score_percent, 0.0) / poor
    value = NEUTRAL + coverage_fraction * ((MOST - NEUTRAL) * over - (NEUTRAL - LEAST) * under)
    if coverage_fraction < LIMITS.partial_coverage_fraction:
        value = max(value, NEUTRAL)
    return round(min(max(value, LEAST), MOST), 2)
