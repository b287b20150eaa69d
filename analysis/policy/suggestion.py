"""A suggested multiplier of priority or quota: bounded, advisory, computed from the shown figures alone."""

from __future__ import annotations

from analysis.thresholds import LIMITS

LEAST, MOST = 0.8, 1.2
JOBS_MIN = 5
"""Fewer runs suggest nothing (as for the flag: domain, section 7)."""

NEUTRAL = 1.0


def multiplier(score_percent: float | None, coverage_fraction: float | None, jobs: int | None) -> float:
    """1 for an efficiency score of the class Acceptable, up to 1.2 above it, down to 0.8 below; two decimals.

    Its distance from 1 shrinks with the coverage. It is never below 1 where less than the coverage of a partial report
    was measured, and 1 where nothing was, or for fewer than `JOBS_MIN` runs. `jobs` None: enough, but not shown.

    >>> multiplier(20.0, 0.9, 20), multiplier(85.0, 1.0, 20), multiplier(20.0, 0.7, 20), multiplier(None, 0.0, 20)
    (0.91, 1.1, 1.0, 1.0)
    """
    if score_percent is None or coverage_fraction is None or (jobs is not None and jobs < JOBS_MIN):
        return NEUTRAL
    good, poor = LIMITS.efficient_percent, LIMITS.acceptable_percent
    over = max(score_percent - good, 0.0) / (100.0 - good)
    under = max(poor - score_percent, 0.0) / poor
    value = NEUTRAL + coverage_fraction * ((MOST - NEUTRAL) * over - (NEUTRAL - LEAST) * under)
    if coverage_fraction < LIMITS.partial_coverage_fraction:
        value = max(value, NEUTRAL)
    return round(min(max(value, LEAST), MOST), 2)
