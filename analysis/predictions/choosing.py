"""Which predictor speaks for a work: the one that would have been nearer for its last runs.

Each of the last runs of the asked size is predicted again from those that ended before it. A method that misses its
promise on the site is not chosen as long as the other keeps it; if both miss it, the typical value is stated without a
range.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.predictions.own_quantiles import OwnQuantiles
from analysis.predictions.protocol import Observed, Predicted, Predictor, Request
from analysis.predictions.quantities import Method
from analysis.predictions.regression import Regression

PREDICTORS: tuple[Predictor, ...] = (OwnQuantiles(), Regression())
"""The simplest first: it speaks unless another is nearer."""

TRIED_MAX = 10
"""So many of the last runs are predicted again."""

TRIED_MIN = 5
"""From fewer it does not follow that one method is nearer."""


@dataclass(frozen=True)
class Tried:
    """How one method did on the last runs: `inside` of `runs` within its range, `off` the median factor off."""

    runs: int
    inside: int
    off: float


@dataclass(frozen=True)
class Made:
    """What one method predicts; `tried` is None where there was nothing to try it on.

    `has_range` is False where the method misses its promise: then its range is not stated.
    """

    method: Method
    predicted: Predicted
    tried: Tried | None
    has_range: bool = True


def made(earlier: Sequence[Observed], asked: Request, missing: Collection[Method] = ()) -> list[Made]:
    """What each method predicts, the chosen one first; empty from too few runs. `missing` miss their promise.

    >>> half, node = Request("mi250x", 1, 4), Request("mi250x", 1, 8)
    >>> runs = [*[Observed(half, 120.0)] * 5, *[Observed(node, 60.0)] * 5]
    >>> [each.method.value for each in made(runs, node)]
    ['own_quantiles', 'regression']
    >>> made(runs, node, {Method.OWN_QUANTILES})[0].method.value
    'regression'
    """
    found = [
        Made(each.method, value, tried(each, earlier, asked), each.method not in missing)
        for each in PREDICTORS
        if (value := each.predicted(earlier, asked)) is not None
    ]
    # Sorting keeps the order of equals.
    return sorted(found, key=lambda each: (not each.has_range, _off(each, found)))


def _off(one: Made, others: Sequence[Made]) -> float:
    """How far off a method was, the same for all unless each was tried often enough."""
    is_compared = all(each.tried is not None and each.tried.runs >= TRIED_MIN for each in others)
    return one.tried.off if is_compared and one.tried is not None else 0.0


def tried(predictor: Predictor, earlier: Sequence[Observed], asked: Request) -> Tried | None:
    """How a method would have done for the last runs of this size, each from those that ended before.

    >>> node = Request("mi250x", 1, 8)
    >>> runs = [Observed(node, value) for value in (60.0, 50.0, 70.0, 65.0, 55.0, 60.0, 120.0)]
    >>> tried(PREDICTORS[0], runs, node)
    Tried(runs=2, inside=1, off=1.5)
    """
    places = [place for place, run in enumerate(earlier) if run.request.size == asked.size][-TRIED_MAX:]
    offs, inside = [], 0
    for place in places:
        run = earlier[place]
        value = predictor.predicted(earlier[:place], run.request)
        if value is None:
            continue
        offs.append(factor_off(run.value, value.typical))
        inside += value.low <= run.value <= value.high
    return Tried(len(offs), inside, median(offs)) if offs else None


def factor_off(actual: float, typical: float) -> float:
    """How many times too long or too short: 1 is exact.

    >>> factor_off(50.0, 100.0), factor_off(200.0, 100.0)
    (2.0, 2.0)
    """
    return math.exp(abs(math.log(actual / typical)))
