"""The first predictor: the median and a range of ranks of one's own latest runs of the same size."""

from collections.abc import Sequence
from statistics import median

from analysis.predictions.protocol import RUNS_MIN, Observed, Predicted, Request, order_range
from analysis.predictions.quantities import Method

LATEST = 50
"""So many of the latest runs count: of 5, 10, 20 and 50 the one with the least error on the earlier half of the real
accounting (docs/predictions.md)."""


class OwnQuantiles:
    """Of runs on the same kind of node with as many nodes and GPUs."""

    method = Method.OWN_QUANTILES

    def typical(self, earlier: Sequence[Observed], asked: Request) -> float | None:
        """The median, from one run on."""
        values = _values(earlier, asked)
        return median(values) if values else None

    def predicted(self, earlier: Sequence[Observed], asked: Request) -> Predicted | None:
        """From the latest runs of the asked size.

        >>> node = Request("mi250x", 1, 8)
        >>> OwnQuantiles().predicted([Observed(node, value) for value in (60.0, 50.0, 70.0, 65.0, 55.0)], node)
        Predicted(low=50.0, typical=60.0, high=70.0, promised_fraction=0.6666666666666666, runs=5)
        """
        values = _values(earlier, asked)
        if len(values) < RUNS_MIN:
            return None
        low, high, promised = order_range(values)
        return Predicted(low, median(values), high, promised, len(values))


def _values(earlier: Sequence[Observed], asked: Request) -> list[float]:
    return [run.value for run in earlier if run.request.size == asked.size][-LATEST:]
