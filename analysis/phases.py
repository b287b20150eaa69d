"""How GPU use changed over the run: the job's active span and its thirds, and its end."""

from __future__ import annotations

import numpy as np

from analysis.facts import JobFacts, divide
from analysis.idle import is_idle
from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats, JobSeries

FINAL_FRACTION = 0.1
"""The end of a run: its last tenth."""


def mean_over_gpus(util: Floats) -> Floats:
    """Mean busy percent `(T,)` of the GPUs measured in each bucket of `util` `(T, G)`; NaN where none was."""
    counts = np.sum(~np.isnan(util), axis=1)
    sums = np.nansum(util, axis=1)
    return divide(sums, counts.astype(np.float64))


def span_thirds(facts: JobFacts, limits: Limits = LIMITS) -> tuple[float, float] | None:
    """Mean busy percent of the first third of the active span and of the two later ones, over the working GPUs.

    The active span runs from the first to the last bucket in which the GPUs were not idle. None when it has too few
    buckets to have thirds.
    """
    overall = mean_over_gpus(facts.series.util[:, ~is_idle(facts, limits)])
    active = np.flatnonzero(np.nan_to_num(overall) > limits.idle_util_percent)
    if active.size == 0:
        return None
    span = overall[active[0] : active[-1] + 1]
    span = span[~np.isnan(span)]
    if span.size < limits.stall_buckets_min:
        return None
    third = span.size // 3
    return float(np.mean(span[:third])), float(np.mean(span[third:]))


def final_util_percent(series: JobSeries) -> float | None:
    """Mean busy percent over the end of the run; None when nothing was measured there."""
    overall = mean_over_gpus(series.util)
    if overall.size == 0:
        return None
    end = overall[-max(int(overall.size * FINAL_FRACTION), 1) :]
    return float(np.nanmean(end)) if np.any(~np.isnan(end)) else None
