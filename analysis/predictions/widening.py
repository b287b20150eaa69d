"""Ranges as wide as earlier predictions of the site were off: at least as wide as that, and as the own runs show.

The factors are those between which 8 of 10 answers lay of what had been predicted, with the ranks of split conformal
prediction (Lei et al., Distribution-Free Predictive Inference for Regression, 2018, 2.2): of n answers the k-th
smallest and largest, k the whole part of (n + 1) / 10. So the next answer lies between them in at least 8 of 10 cases
if it is like them. The wider of both was chosen among three on the earlier half of the real accounting and on sample
jobs of other seeds than those that are reported (docs/predictions.md).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.predictions.calibration import RANGES_MIN, Checked, Record, counted, is_of_many, misses_promise, record_of
from analysis.predictions.protocol import PROMISED, Predicted, order_range
from analysis.predictions.quantities import OF_OWN_RUNS


@dataclass(frozen=True)
class Factors:
    """Between which factors of the typical value the answers of `answers` predictions lay; `low` <= 1 <= `high`."""

    low: float
    high: float
    answers: int


def factors_of(checked: Sequence[Checked]) -> Factors | None:
    """The factors from these answers; None from fewer than `RANGES_MIN`, or where the upper one is not known.

    A run that went beyond its range without completing counts among the longest: how long it would have been nobody
    knows.

    >>> errors = [place / 10 - 0.5 for place in range(1, 31)]
    >>> rows = [Checked(1, "a", "own_quantiles", "run_s", error, 0.8, True) for error in errors]
    >>> found = factors_of(rows)
    >>> round(found.low, 3), round(found.high, 3), found.answers
    (0.8, 3.3, 30)
    """
    if len(checked) < RANGES_MIN:
        return None
    low, high, _ = order_range([math.inf if row.error_fraction is None else 1 + row.error_fraction for row in checked])
    return None if math.isinf(high) else Factors(min(low, 1.0), max(high, 1.0), len(checked))


def widened(value: Predicted, factors: Factors | None) -> Predicted:
    """The same prediction with the wider range at either end, which is to hold in 8 of 10 cases.

    >>> widened(Predicted(50.0, 60.0, 70.0, 0.67, 5), Factors(0.9, 1.5, 30))
    Predicted(low=50.0, typical=60.0, high=90.0, promised_fraction=0.8, runs=5)
    """
    if factors is None:
        return value
    low, high = min(value.low, value.typical * factors.low), max(value.high, value.typical * factors.high)
    return replace(value, low=low, high=high, promised_fraction=PROMISED)


@dataclass(frozen=True)
class Kept:
    """What the answers of one method for one quantity show: its figures, whether it misses its promise, its factors.

    The `record` is of the ranges that were as wide as factors say; of all while there are none.
    """

    answers: int
    record: Record
    misses_promise: bool
    factors: Factors | None


def kept(latest_first: Iterable[Checked]) -> Kept:
    """From the answers of one kind; each work counts with its latest, few people show nothing.

    Once there are factors, what ranges without them promised is the past: it does not mark the method.
    """
    some = counted(latest_first)
    has_factors = is_of_many(some) and some[0].method in OF_OWN_RUNS
    factors = factors_of(some) if has_factors else None
    judged = some if factors is None else [row for row in some if row.is_widened]
    record = record_of(judged)
    return Kept(len(some), record, is_of_many(judged) and misses_promise(record), factors)
