"""What both predictors take and give: earlier runs of one work with one measured value each, and a range for the next.

A method states a range only with how often it is to hold. Of n earlier values in any order the next one lies between
the k-th smallest and the k-th largest in (n + 1 - 2k) of (n + 1) cases, whatever their distribution, as long as it is
drawn like them (David and Nagaraja, Order Statistics, 2003, 7.2). Whether later runs are is measured
(`analysis.predictions.calibration`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from analysis.predictions.quantities import Method

RUNS_MIN = 5
"""From fewer earlier runs nothing is predicted."""

PROMISED = 0.8
"""The range is meant to hold for 8 of 10 next runs; fewer than 9 earlier ones can only promise less."""


@dataclass(frozen=True)
class Request:
    """What a run requested, as far as runs are compared by it; `hardware` names the kind of node.

    `cores` and `limit_s` None are not known.
    """

    hardware: str
    nodes: int
    gpus: int
    cores: int | None = None
    limit_s: float | None = None

    @property
    def size(self) -> tuple[str, int, int]:
        return self.hardware, self.nodes, self.gpus


@dataclass(frozen=True)
class Observed:
    """One earlier run; `value` is above 0, in the unit of the quantity."""

    request: Request
    value: float


@dataclass(frozen=True)
class Predicted:
    """The next value: typically, and a range with how often it is to hold; `runs` are the earlier runs behind it."""

    low: float
    typical: float
    high: float
    promised_fraction: float
    runs: int


class Predictor(Protocol):
    """One way to predict; `earlier` come in the order of their end, the latest last. None from too little.

    `typical` is the same number from fewer runs, for the comparison of methods alone: nobody is shown it.
    """

    method: Method

    def typical(self, earlier: Sequence[Observed], asked: Request) -> float | None: ...

    def predicted(self, earlier: Sequence[Observed], asked: Request) -> Predicted | None: ...


def order_range(values: Sequence[float]) -> tuple[float, float, float]:
    """(low, high, promised): the narrowest pair of equal ranks that promises `PROMISED`, else the least and the most.

    >>> order_range([4.0, 1.0, 3.0, 2.0])
    (1.0, 4.0, 0.6)
    >>> order_range([float(value) for value in range(1, 20)])
    (2.0, 18.0, 0.8)
    """
    ordered, count = sorted(values), len(values)
    rank = _rank(count)
    return ordered[rank - 1], ordered[count - rank], (count + 1 - 2 * rank) / (count + 1)


def certainly_within(count: int) -> int:
    """How many of so many values lie within their `order_range` at least.

    >>> certainly_within(18), certainly_within(19), certainly_within(50)
    (18, 17, 42)
    """
    return count + 2 - 2 * _rank(count)


def _rank(count: int) -> int:
    # Rounded first: (1 - 0.8) / 2 * 20 is a little less than 2 in binary.
    return max(int(round((count + 1) * (1 - PROMISED) / 2, 9)), 1)
