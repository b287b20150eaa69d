"""Whether a value fits a comparison of a search, and the order of what was found; pure."""

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from portal.mlflow.grammar import Clause, Name, Order

Found = TypeVar("Found")
Test = Callable[[Any], bool]
ValueOf = Callable[[Found, Name], Any]
"""The value of one found thing under a name; None where it has none."""

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "IN": lambda value, wanted: value in wanted,
    "NOT IN": lambda value, wanted: value not in wanted,
}


def test_of(clause: Clause) -> Test:
    """The comparison as a function of a value; what has no value fits IS NULL alone.

    >>> from portal.mlflow.grammar import Kind
    >>> unequal = test_of(Clause(Name(Kind.PARAM, "net"), "!=", "vit"))
    >>> unequal("resnet"), unequal("vit"), unequal(None)
    (True, False, False)
    """
    if clause.operator == "IS NULL":
        return lambda value: value is None
    if clause.operator == "IS NOT NULL":
        return lambda value: value is not None
    if clause.operator in ("LIKE", "ILIKE"):
        fits = like(str(clause.value), is_case_ignored=clause.operator == "ILIKE")
        return lambda value: value is not None and fits(value)
    compare, wanted = COMPARISONS[clause.operator], clause.value
    return lambda value: value is not None and compare(value, wanted)


def like(pattern: str, *, is_case_ignored: bool = False) -> Callable[[str], bool]:
    """A pattern of SQL as a function of a text: `%` stands for any characters, `_` for one.

    Each part between two `%` has a fixed length and is searched for from where the last one ended, so that no pattern
    takes longer than its length times that of the text.

    >>> fits = like("vit_%2%", is_case_ignored=True)
    >>> fits("ViT-b-2"), fits("vit2"), fits("vit-2\\n")
    (True, False, True)
    """
    flags = re.DOTALL | (re.IGNORECASE if is_case_ignored else 0)
    written = pattern.split("%")
    parts = [re.compile("".join("." if c == "_" else re.escape(c) for c in part), flags) for part in written]

    def fits(text: str) -> bool:
        if len(parts) == 1:
            return parts[0].fullmatch(text) is not None
        begin = parts[0].match(text)
        place = begin.end() if begin else None
        for part in parts[1:-1]:
            found = part.search(text, place) if place is not None else None
            place = found.end() if found else None
        last = len(text) - len(written[-1])
        return place is not None and place <= last and parts[-1].fullmatch(text, last) is not None

    return fits


def sorted_by(found: Sequence[Found], orders: Sequence[Order], value_of: ValueOf[Found]) -> list[Found]:
    """Sorted by these columns; equal ones stay in their order, NaN comes after numbers, and nothing at the end.

    >>> from portal.mlflow.grammar import Kind
    >>> orders = [Order(Name(Kind.METRIC, "loss"), is_ascending=False)]
    >>> sorted_by([0.1, None, float("nan"), 0.7], orders, lambda value, name: value)
    [0.7, 0.1, nan, None]
    """
    result = list(found)
    for order in reversed(orders):
        values = [(value_of(each, order.name), each) for each in result]
        numbers = [(value, each) for value, each in values if value is not None and value == value]
        numbers.sort(key=operator.itemgetter(0), reverse=not order.is_ascending)
        nans = [each for value, each in values if value is not None and value != value]
        result = [*(each for _, each in numbers), *nans, *(each for value, each in values if value is None)]
    return result
