"""Which predictor speaks for a work: the one that is nearer for its last runs.

Each of the last runs of the asked size is predicted by both from all the others. A method that misses its promise on
the site is not chosen as long as the other keeps it; if both miss it, the typical value is stated without a range.
Ranges are as wide as earlier predictions of the site were off, once that is known (`widening`).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from analysis.predictions.own_quantiles import OwnQuantiles
from analysis.predictions.protocol import Observed, Predicted, Predictor, Request
from analysis.predictions.quantities import Method
from analysis.predictions.regression import Regression
from analysis.predictions.widening import Factors, widened

PREDICTORS: tuple[Predictor, ...] = (OwnQuantiles(), Regression())
"""The simplest first: it speaks unless another is nearer."""

TRIED_MAX = 10
"""So many of the last runs are predicted again."""

COMPARED_MIN = 3
"""From fewer it does not follow that one method is nearer."""

USEFUL_MAX = 20.0
"""A range whose longest end is more than so many times its shortest cannot be planned with. People plan in a few steps:
half an hour, a working day, a week. One is about 20 times another, so a wider range does not even tell which it is."""


@dataclass(frozen=True)
class Tried:
    """How one method would have done for the last runs: `inside` of `runs` within its range."""

    runs: int
    inside: int


@dataclass(frozen=True)
class OfSite:
    """What the answers of the whole site show of one quantity: who misses the promise, and how wide ranges must be."""

    missing: Collection[Method] = ()
    factors: Mapping[Method, Factors] = field(default_factory=dict)


NOTHING_KNOWN = OfSite()


@dataclass(frozen=True)
class Made:
    """What one method predicts; `tried` is None where there was nothing to try it on.

    `has_range` is False where the method misses its promise: then its range is not stated. `factors` are those that
    the range is at least as wide as, None while too little is known.
    """

    method: Method
    predicted: Predicted
    tried: Tried | None
    has_range: bool = True
    factors: Factors | None = None

    @property
    def is_too_wide(self) -> bool:
        """Whether nothing can be planned with its range.

        >>> [Made(Method.OWN_QUANTILES, Predicted(1.0, 5.0, high, 0.8, 9), None).is_too_wide for high in (20.0, 21.0)]
        [False, True]
        """
        return self.predicted.high > USEFUL_MAX * self.predicted.low

    @property
    def is_too_wide_for_every_work(self) -> bool:
        """Whether that is so by how far predictions of the site were off, however alike the runs of a work are."""
        return self.factors is not None and self.factors.high > USEFUL_MAX * self.factors.low


def made(earlier: Sequence[Observed], asked: Request, of_site: OfSite = NOTHING_KNOWN) -> list[Made]:
    """What each method predicts, the chosen one first; empty from too few runs.

    >>> half, node = Request("mi250x", 1, 4), Request("mi250x", 1, 8)
    >>> runs = [*[Observed(half, 120.0)] * 5, *[Observed(node, 60.0)] * 5]
    >>> [each.method.value for each in made(runs, node)]
    ['own_quantiles', 'regression']
    >>> made(runs, node, OfSite({Method.OWN_QUANTILES}))[0].method.value
    'regression'
    """
    found = [one for each in PREDICTORS if (one := made_by(each, earlier, asked, of_site)) is not None]
    off = _off(earlier, asked)
    # Sorting keeps the order of equals.
    return sorted(found, key=lambda each: (not each.has_range, off.get(each.method, 1.0)))


def made_by(predictor: Predictor, earlier: Sequence[Observed], asked: Request, of_site: OfSite) -> Made | None:
    """What one method predicts; None from too few runs."""
    value, factors = predictor.predicted(earlier, asked), of_site.factors.get(predictor.method)
    if value is None:
        return None
    return Made(
        method=predictor.method,
        predicted=widened(value, factors),
        tried=tried(predictor, earlier, asked, factors),
        has_range=predictor.method not in of_site.missing,
        factors=factors,
    )


def _off(earlier: Sequence[Observed], asked: Request) -> dict[Method, float]:
    """How many times too long or too short each method is for the last runs of this size, from all the others.

    The median of those runs that every method can be tried on; empty where they are too few.
    """
    offs: dict[Method, list[float]] = {each.method: [] for each in PREDICTORS}
    for place in _last(earlier, asked):
        run, others = earlier[place], [*earlier[:place], *earlier[place + 1 :]]
        values = {each.method: each.typical(others, run.request) for each in PREDICTORS}
        if all(values.values()):
            for method, value in values.items():
                offs[method].append(factor_off(run.value, value or run.value))
    return {method: median(found) for method, found in offs.items() if len(found) >= COMPARED_MIN}


def _last(earlier: Sequence[Observed], asked: Request) -> list[int]:
    """The places of the last runs of this size."""
    return [place for place, run in enumerate(earlier) if run.request.size == asked.size][-TRIED_MAX:]


def tried(
    predictor: Predictor, earlier: Sequence[Observed], asked: Request, factors: Factors | None = None
) -> Tried | None:
    """How often its range would have held for the last runs of this size, each from those that ended before.

    >>> node = Request("mi250x", 1, 8)
    >>> runs = [Observed(node, value) for value in (60.0, 50.0, 70.0, 65.0, 55.0, 60.0, 120.0)]
    >>> tried(PREDICTORS[0], runs, node)
    Tried(runs=2, inside=1)
    """
    count, inside = 0, 0
    for place in _last(earlier, asked):
        run = earlier[place]
        value = predictor.predicted(earlier[:place], run.request)
        if value is not None:
            value = widened(value, factors)
            count, inside = count + 1, inside + (value.low <= run.value <= value.high)
    return Tried(count, inside) if count else None


def factor_off(actual: float, typical: float) -> float:
    """How many times too long or too short: 1 is exact.

    >>> factor_off(50.0, 100.0), factor_off(200.0, 100.0)
    (2.0, 2.0)
    """
    return math.exp(abs(math.log(actual / typical)))
