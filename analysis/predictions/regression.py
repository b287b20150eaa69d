"""The second predictor: a straight line through one's own runs of similar shape, in logarithms.

The value is taken to change by a constant factor for each doubling of GPUs, nodes, cores and time limit, as far as the
runs differ in these. Runs near the asked request count more. It is never used beyond what the runs show: every asked
number lies within theirs; runs that were all requested alike show no line.
"""

import math
from collections.abc import Sequence

import numpy as np

from analysis.predictions.protocol import RUNS_MIN, Observed, Predicted, Request, order_range
from analysis.predictions.quantities import Method

LATEST = 20
"""So many of the latest runs count: of 20, 50 and 200 the one with the least error on the earlier half of the real
accounting, where all runs of one person on one cluster were taken together (docs/predictions.md)."""

FITTED_MIN = 4
"""From fewer runs no line is drawn, not even to compare the methods."""

RIDGE = 0.1
"""Keeps what few runs hardly show near "no effect" (Hoerl and Kennard 1970), in squared natural logarithms. Of 0.1,
0.03 and 0.01 the only one whose ranges held as often as promised, on sample jobs of other seeds than those that are
reported (docs/predictions.md)."""

NUMBERS = ("gpus", "nodes", "cores", "limit_s")

Floats = np.ndarray


class Regression:
    """Weighted least squares on the natural logarithms; the range from how far the same runs are off the line."""

    method = Method.REGRESSION

    def typical(self, earlier: Sequence[Observed], asked: Request) -> float | None:
        """The line's value, from `FITTED_MIN` runs on."""
        found = _line(earlier, asked)
        return None if found is None else _rounded(math.exp(found[0]))

    def predicted(self, earlier: Sequence[Observed], asked: Request) -> Predicted | None:
        """Four GPUs lie between two and eight.

        >>> runs = [Observed(Request("mi250x", 1, gpus), 6400.0 / gpus) for gpus in (2, 8) for _ in range(4)]
        >>> found = Regression().predicted(runs, Request("mi250x", 1, 4))
        >>> round(found.low) <= round(found.typical) == 1600 <= round(found.high), found.runs
        (True, 8)
        >>> Regression().predicted(runs, Request("mi250x", 1, 16)) is None
        True
        """
        found = _line(earlier, asked)
        if found is None or len(found[1]) < RUNS_MIN:
            return None
        typical, off = found
        low, high, promised = order_range(off.tolist())
        return Predicted(
            low=_rounded(math.exp(typical + min(low, 0.0))),
            typical=_rounded(math.exp(typical)),
            high=_rounded(math.exp(typical + max(high, 0.0))),
            promised_fraction=promised,
            runs=len(off),
        )


def _line(earlier: Sequence[Observed], asked: Request) -> tuple[float, Floats] | None:
    """The line's value at the asked request in natural logarithms, and how far each run is off the line."""
    near = [run for run in earlier if run.request.hardware == asked.hardware][-LATEST:]
    if len(near) < FITTED_MIN:
        return None
    known = _known(near, asked)
    offsets = np.array([_logs(run.request, known) for run in near]) - np.array(_logs(asked, known))
    if not np.ptp(offsets, axis=0).any() or not _is_within(offsets):
        return None
    return _fitted(offsets, np.log([run.value for run in near]))


def _known(runs: Sequence[Observed], asked: Request) -> tuple[str, ...]:
    """What is known of every run and of the request."""
    every = [*(run.request for run in runs), asked]
    return tuple(name for name in NUMBERS if all(getattr(request, name) for request in every))


def _logs(request: Request, names: Sequence[str]) -> list[float]:
    return [math.log(getattr(request, name)) for name in names]


def _rounded(value: float) -> float:
    """Without what logarithms leave behind: runs of exactly an hour are predicted to take an hour.

    >>> _rounded(math.exp(math.log(2100.0) + 1e-15))
    2100.0
    """
    return float(f"{value:.9g}")


def _is_within(offsets: Floats) -> bool:
    """Whether nothing that is asked lies below the least or above the most of the runs; (runs, names)."""
    return bool(((offsets.min(axis=0) <= 1e-9) & (offsets.max(axis=0) >= -1e-9)).all())


def _fitted(offsets: Floats, logs: Floats) -> tuple[float, Floats]:
    """The line's value at the asked request, and how far each run is off the line."""
    weights = np.exp(-np.abs(offsets).sum(axis=1))
    weights /= weights.sum()
    centre, level = weights @ offsets, weights @ logs
    apart, rest = offsets - centre, logs - level
    square = (weights[:, None] * apart).T @ apart + RIDGE * np.eye(offsets.shape[1])
    slopes = np.linalg.solve(square, (weights * rest) @ apart)
    return float(level - slopes @ centre), rest - apart @ slopes
