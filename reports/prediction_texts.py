"""What is said of the next run of a work before it runs, and of how good earlier predictions were."""

from __future__ import annotations

from collections.abc import Callable

from analysis.predictions.choosing import Made, Tried
from analysis.predictions.protocol import RUNS_MIN
from analysis.predictions.quantities import Method, Quantity
from reports.numbers import counted, duration, gigabytes, hours, unbroken

QUANTITIES = {
    Quantity.RUN_S: "Run time",
    Quantity.GPU_HOURS: "Cost",
    Quantity.GPUS: "GPUs needed",
    Quantity.MEMORY_GB: "Host memory",
    Quantity.WAIT_S: "Wait in the queue",
}
METHODS = {
    Method.OWN_QUANTILES: "own runs of the same size",
    Method.REGRESSION: "line through own runs of similar shape",
    Method.ADVICE: "assumption of the report",
    Method.QUEUE_WAITS: "waits of similar jobs",
}
FORMATS: dict[Quantity, Callable[[float], str]] = {
    Quantity.RUN_S: duration,
    Quantity.GPU_HOURS: hours,
    Quantity.GPUS: lambda value: f"{value:g}",
    Quantity.MEMORY_GB: gigabytes,
    Quantity.WAIT_S: duration,
}
UNITS = {Quantity.GPU_HOURS: " GPU-hours"}
NO_RANGE = "no range is stated, because ranges of this kind held less often than promised on this site"


def expected_text(quantity: Quantity, made: Made) -> str:
    """One number for the next run: typically, its range with how often it is to hold, and what it rests on.

    >>> from analysis.predictions.protocol import Predicted
    >>> from analysis.predictions.widening import Factors
    >>> value, few = Predicted(9600.0, 11400.0, 13800.0, 0.8, 12), Predicted(2.0, 2.0, 2.0, 2 / 3, 5)
    >>> wide = Made(Method.OWN_QUANTILES, value, Tried(10, 9), factors=Factors(0.9, 1.2, 42))
    >>> expected_text(Quantity.RUN_S, wide).replace(chr(160), " ")
    'Run time: typically 3 h 10 min, in 8 of 10 cases 2 h 40 min to 3 h 50 min, from 12 earlier runs of this size; the\
 range is at least as wide as 42 predictions on this site were off; here such ranges held for 9 of the last 10.'
    >>> expected_text(Quantity.GPUS, Made(Method.OWN_QUANTILES, few, None)).replace(chr(160), " ")
    'GPUs needed: typically 2, in 7 of 10 cases as much, from 5 earlier runs of this size; such ranges have not been\
 checked on this site yet.'
    >>> expected_text(Quantity.RUN_S, Made(Method.REGRESSION, value, None, has_range=False)).replace(chr(160), " ")
    'Run time: typically 3 h 10 min, from a straight line through 12 earlier runs of similar shape; no range is stated,\
 because ranges of this kind held less often than promised on this site.'
    """
    write, value = FORMATS[quantity], made.predicted
    parts = [f"{QUANTITIES[quantity]}: typically {write(value.typical)}{UNITS.get(quantity, '')}"]
    if made.has_range:
        low, high = write(value.low), write(value.high)
        between = "as much" if low == high else f"{low} to {high}"
        parts.append(f"in {of_ten(value.promised_fraction)} cases {between}")
    parts.append(_origin(made.method, value.runs))
    return unbroken(f"{', '.join(parts)}; {_range_text(made)}.")


def _origin(method: Method, runs: int) -> str:
    if method is Method.REGRESSION:
        return f"from a straight line through {counted(runs, 'earlier run')} of similar shape"
    return f"from {counted(runs, 'earlier run')} of this size"


def _range_text(made: Made) -> str:
    """How wide the range is and why, and how often such ranges held; why none is stated."""
    if not made.has_range:
        return NO_RANGE
    held = _held(made.tried)
    if made.factors is not None:
        return f"the range is at least as wide as {made.factors.answers:,} predictions on this site were off{held}"
    return f"such ranges have not been checked on this site yet{held}"


def _held(tried: Tried | None) -> str:
    """How often such ranges held for the last runs; nothing of fewer than are needed for a prediction."""
    return (
        f"; here such ranges held for {tried.inside} of the last {tried.runs}"
        if tried and tried.runs >= RUNS_MIN
        else ""
    )


def of_ten(fraction: float) -> str:
    """A share as people count it.

    >>> of_ten(0.8), of_ten(2 / 3)
    ('8 of 10', '7 of 10')
    """
    return f"{round(10 * fraction)} of 10"
