"""What is said of the next run of a work before it runs, and of how good earlier predictions were."""

from collections.abc import Callable, Collection, Iterable

from analysis.predictions.calibration import promised_percent
from analysis.predictions.choosing import Made, Tried
from analysis.predictions.expected import Expected
from analysis.predictions.protocol import RUNS_MIN, certainly_within
from analysis.predictions.quantities import Method, Quantity
from reports.numbers import unbroken
from wire.numbers import counted, duration, gigabytes, hours

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
NOT_CHECKED = "how often such predictions hold has not been checked on this site yet"
VARY = {
    Quantity.RUN_S: "run times of this work vary",
    Quantity.GPU_HOURS: "costs of this work vary",
    Quantity.GPUS: "the GPUs that this work needs vary",
    Quantity.MEMORY_GB: "the host memory of this work varies",
}


def expected_texts(found: Iterable[Expected]) -> list[str]:
    """A sentence for each quantity of the next run, by the chosen method, in an order in which they are read together.

    What they rest on, and how far it was checked, is said once, and again where it is something else.
    """
    said: tuple[str, ...] = ()
    sentences = []
    for each in found:
        made = each.methods[0]
        sentences.append(expected_text(each.quantity, made, said))
        said = (_origin(made), *_basis(each.quantity, made))
    return sentences


def expected_text(quantity: Quantity, made: Made, said: Collection[str] = ()) -> str:
    """One number for the next run, its range with how often that is to hold, and what it rests on unless it was said.

    >>> from analysis.predictions.protocol import Predicted
    >>> from analysis.predictions.widening import Factors
    >>> shown = lambda *given: print(expected_text(*given).replace(chr(160), " "))
    >>> value = Predicted(9600.0, 11400.0, 13800.0, 0.8, 12)
    >>> wide = Made(Method.OWN_QUANTILES, value, Tried(10, 9), factors=Factors(0.9, 1.2, 42))
    >>> shown(Quantity.RUN_S, wide)
    Run time: typically 3 h 10 min, in 8 of 10 cases 2 h 40 min to 3 h 50 min, from 12 earlier runs of this size; the\
 range is at least as wide as 42 predictions on this site were off; tried on the last 10 runs, such a range held for 9.
    >>> shown(Quantity.RUN_S, wide, (_origin(wide), *_basis(Quantity.RUN_S, wide)))
    Run time: typically 3 h 10 min, in 8 of 10 cases 2 h 40 min to 3 h 50 min.
    >>> shown(Quantity.RUN_S, Made(Method.REGRESSION, value, None, has_range=False))
    Run time: typically 3 h 10 min, from a straight line through 12 earlier runs of similar shape; no range is stated,\
 because ranges of this kind held less often than promised on this site.
    """
    numbers = [f"{QUANTITIES[quantity]}: {_number(quantity, made)}"]
    is_said = _origin(made) in said
    if _is_one(quantity, made) and made.method is Method.OWN_QUANTILES:
        numbers.append(_alike(made.predicted.runs, is_said))
    elif not is_said:
        numbers.append(_origin(made))
    basis = [each for each in _basis(quantity, made) if each not in said]
    return unbroken("; ".join([", ".join(numbers), *basis]) + ".")


def _is_one(quantity: Quantity, made: Made) -> bool:
    """Whether the range is a single number, as it is written."""
    write = FORMATS[quantity]
    return made.has_range and write(made.predicted.low) == write(made.predicted.high)


def _number(quantity: Quantity, made: Made) -> str:
    """The typical value and the range; a range that nothing can be planned with is called that.

    >>> from analysis.predictions.protocol import Predicted
    >>> wide = Made(Method.OWN_QUANTILES, Predicted(300.0, 4200.0, 32400.0, 0.8, 9), None)
    >>> _number(Quantity.RUN_S, wide).replace(chr(160), " ")
    'typically 1 h 10 min, but run times of this work vary too much for a useful range: in 8 of 10 cases anywhere from\
 5 min 00 s to 9 h 00 min'
    """
    write, value = FORMATS[quantity], made.predicted
    number = f"{write(value.typical)}{UNITS.get(quantity, '')}"
    if _is_one(quantity, made):
        return number
    if not made.has_range:
        return f"typically {number}"
    cases, low, high = f"in {of_ten(value.promised_fraction)} cases", write(value.low), write(value.high)
    if not made.is_too_wide:
        return f"typically {number}, {cases} {low} to {high}"
    why = f"{VARY[quantity]} too much"
    if made.is_too_wide_for_every_work:
        why = "predictions on this site were too far off"
    return f"typically {number}, but {why} for a useful range: {cases} anywhere from {low} to {high}"


def _alike(runs: int, is_origin_said: bool) -> str:
    """How many runs took just that.

    >>> _alike(9, False), _alike(9, True), _alike(19, False)
    ('as in all 9 earlier runs of this size', 'as in all of them', 'as in at least 17 of 19 earlier runs of this size')
    """
    least = certainly_within(runs)
    if is_origin_said:
        return "as in all of them" if least == runs else f"as in at least {least} of them"
    part = "all" if least == runs else f"at least {least} of"
    return f"as in {part} {counted(runs, 'earlier run')} of this size"


def _origin(made: Made) -> str:
    runs = counted(made.predicted.runs, "earlier run")
    if made.method is Method.REGRESSION:
        return f"from a straight line through {runs} of similar shape"
    return f"from {runs} of this size"


def _basis(quantity: Quantity, made: Made) -> tuple[str, ...]:
    """How wide the range is and why, and how often such ranges held; why none is stated."""
    if not made.has_range:
        return (NO_RANGE,)
    return _width(quantity, made), *_held(made.tried)


def _width(quantity: Quantity, made: Made) -> str:
    if made.factors is None:
        return NOT_CHECKED
    if _is_one(quantity, made):
        return f"of {made.factors.answers:,} predictions on this site at least 8 of 10 were not off"
    return f"the range is at least as wide as {made.factors.answers:,} predictions on this site were off"


def _held(tried: Tried | None) -> tuple[str, ...]:
    """How often such ranges held for the last runs; nothing of fewer than are needed for a prediction."""
    if tried is None or tried.runs < RUNS_MIN:
        return ()
    return (f"tried on the last {tried.runs} runs, such a range held for {tried.inside}",)


def of_ten(fraction: float) -> str:
    """A promised share as people count it; never more than is promised.

    >>> of_ten(0.8), of_ten(2 / 3), of_ten(13 / 15)
    ('8 of 10', '6 of 10', '8 of 10')
    """
    return f"{promised_percent(fraction) // 10} of 10"
