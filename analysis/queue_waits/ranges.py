"""The range around a typical wait: how far earlier estimates of the partition were off, and how often it held.

Of the runs that started within the last 14 days the estimate made at their submission is compared with their wait.
The range reaches from the 10th to the 90th percentile of these ratios, so 8 of 10 of them lie within. Whether later
waits do as well is measured, and stated with each range.
"""

from dataclasses import dataclass

import numpy as np

from analysis.queue_waits.rule import (
    DAY_S,
    WAIT_S_MIN,
    Alike,
    Chosen,
    Floats,
    Typical,
    Whole,
    quantile,
    together_weights,
)

LOW, HIGH = 0.1, 0.9
"""The range is meant to hold for 8 of 10 waits."""

ERRORS_S = 14 * DAY_S
"""Runs that started within this time before show how far estimates are off."""

SUBMISSIONS_MIN = 30
"""With fewer submissions a partition takes the range of its whole cluster: fewer than three would be outside at each
end."""


@dataclass(frozen=True)
class Band:
    """A range as factors of the typical wait, from the errors of estimates for this many submissions."""

    low_factor: float
    high_factor: float
    submissions: int


@dataclass(frozen=True)
class Held:
    """How well the ranges of a partition held: the share of submissions within them, of so many submissions and jobs.

    `factor_off` is the median factor between the typical wait and the wait.
    """

    coverage: float
    factor_off: float
    submissions: int
    jobs: int


@dataclass(frozen=True)
class WaitEstimate:
    """How long a job would probably wait, in seconds from when it could start; `low_s` 0 stands for less than a minute.

    `coverage` is the measured share of waits within such ranges, of `coverage_submissions` submissions. `starts` is
    the number of comparable starts behind the typical wait, `people` whose they were, `alike` how like the asked job
    they are.
    """

    low_s: float
    typical_s: float
    high_s: float
    starts: int
    people: int
    alike: Alike
    coverage: float
    coverage_submissions: int


def estimate(typical: Typical, band: Band, held: Held) -> WaitEstimate:
    """The range around a typical wait, which is always within it."""
    low_s, high_s = ends(np.array([typical.wait_s]), band)
    return WaitEstimate(
        low_s=float(low_s[0]) if low_s[0] > WAIT_S_MIN else 0.0,
        typical_s=typical.wait_s,
        high_s=float(high_s[0]),
        starts=typical.starts,
        people=typical.people,
        alike=typical.alike,
        coverage=held.coverage,
        coverage_submissions=held.submissions,
    )


def ends(typical_s: Floats, band: Band) -> tuple[Floats, Floats]:
    """The lower and upper ends in seconds, at least the shortest wait."""
    low_s: Floats = np.maximum(typical_s * min(band.low_factor, 1.0), WAIT_S_MIN)
    high_s: Floats = np.maximum(typical_s * max(band.high_factor, 1.0), WAIT_S_MIN)
    return low_s, high_s


def band_of(ratios: Floats, submission: Whole) -> Band | None:
    """The range from the ratios wait / typical wait, NaN where no estimate was made; None from too few."""
    is_made = ~np.isnan(ratios)
    count = len(np.unique(submission[is_made]))
    if count < SUBMISSIONS_MIN:
        return None
    weights = together_weights(submission[is_made])
    return Band(quantile(ratios[is_made], weights, LOW), quantile(ratios[is_made], weights, HIGH), count)


def held_of(wait_s: Floats, typical_s: Floats, within: Chosen, submission: Whole) -> Held | None:
    """How well ranges held; each submission counts once, however many jobs it had. None from too few submissions."""
    count = len(np.unique(submission))
    if count < SUBMISSIONS_MIN:
        return None
    weights = 1.0 / np.bincount(submission)[submission]
    factor = quantile(factor_off(wait_s, typical_s), weights, 0.5)
    return Held(float(np.average(within, weights=weights)), factor, count, len(wait_s))


def factor_off(wait_s: Floats, typical_s: Floats) -> Floats:
    """How many times too long or too short each estimate was: 1 is exact; waits under a minute count as a minute.

    >>> factor_off(np.array([600.0, 30.0]), np.array([1200.0, 60.0])).tolist()
    [2.0, 1.0]
    """
    ratio = np.maximum(typical_s, WAIT_S_MIN) / np.maximum(wait_s, WAIT_S_MIN)
    off: Floats = np.maximum(ratio, 1 / ratio)
    return off
