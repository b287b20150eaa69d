"""MLflow's language of filters and orders, read into values; pure.

A filter is one or more comparisons joined by AND, such as ``metrics.loss < 0.5 AND params.`net depth` = '12'``: a kind
of column and its name, an operator, a number, a text or a list of texts. OR, parentheses and functions are not part of
it (MLflow's documentation, "Search Runs").
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from portal.mlflow.answers import Refused, invalid
from wire.safe_text import printable

FILTER_LENGTH_MAX, CLAUSES_MAX, ORDERS_MAX = 5000, 50, 20

NAME = re.compile(r"""\s*(?:(?P<kind>\w+|`\w+`)\.)?(?P<key>`[^`]+`|"[^"]+"|[\w./:-]+)""")
OPERATOR = re.compile(
    r"\s*(?P<operator>!=|<>|<=|>=|=|<|>|(?:(?:NOT\s+)?IN|I?LIKE|IS\s+(?:NOT\s+)?NULL)\b)", re.IGNORECASE
)
TEXT = r"""'(?:[^']|'')*'|"[^"]*\""""
NUMBER = re.compile(r"\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])")
QUOTED = re.compile(rf"\s*(?P<text>{TEXT})")
LIST = re.compile(rf"\s*\((?P<texts>\s*(?:{TEXT})\s*(?:,\s*(?:{TEXT})\s*)*),?\s*\)")
AND = re.compile(r"\s*AND\b", re.IGNORECASE)
DIRECTION = re.compile(r"\s+(?P<direction>ASC|DESC)\b", re.IGNORECASE)
END = re.compile(r"\s*;?\s*\Z")


class Kind(Enum):
    """What a name is the name of, with the words for it in a filter."""

    METRIC = ("metric", "metrics")
    PARAM = ("parameter", "parameters", "param", "params")
    TAG = ("tag", "tags")
    ATTRIBUTE = ("attribute", "attributes", "attr", "run")


@dataclass(frozen=True)
class Name:
    """A column of a search: `metrics.loss` is Name(METRIC, "loss")."""

    kind: Kind
    key: str


@dataclass(frozen=True)
class Clause:
    """One comparison; `value` is None for IS NULL and IS NOT NULL."""

    name: Name
    operator: str
    value: float | str | tuple[str, ...] | None = None


@dataclass(frozen=True)
class Order:
    """One column to sort by."""

    name: Name
    is_ascending: bool = True


@dataclass(frozen=True)
class Grammar:
    """What can be searched: the kinds of columns, and the attributes that are numbers and texts."""

    kinds: frozenset[Kind]
    numbers: frozenset[str]
    texts: frozenset[str]
    other_names: Mapping[str, str] = field(default_factory=dict)

    def is_number(self, name: Name) -> bool:
        """Whether values of this column are compared as numbers."""
        return name.kind is Kind.METRIC or (name.kind is Kind.ATTRIBUTE and name.key in self.numbers)


RUNS = Grammar(
    frozenset(Kind),
    frozenset({"start_time", "end_time"}),
    frozenset({"run_id", "run_name", "status", "user_id", "artifact_uri"}),
    {
        "created": "start_time",
        "Created": "start_time",
        **dict.fromkeys(("run name", "Run name", "Run Name"), "run_name"),
    },
)
EXPERIMENTS = Grammar(
    frozenset({Kind.TAG, Kind.ATTRIBUTE}),
    frozenset({"creation_time", "last_update_time"}),
    frozenset({"name", "experiment_id"}),
)

OF_NUMBERS = frozenset({"=", "!=", "<", "<=", ">", ">="})
OF_TEXTS = frozenset({"=", "!=", "LIKE", "ILIKE", "IN", "NOT IN"})
OF_OPTIONAL = OF_TEXTS | {"IS NULL", "IS NOT NULL"}
"""Of parameters and tags, which a run may have or not."""


def parsed_filter(text: str | None, grammar: Grammar) -> list[Clause]:
    """The comparisons of a filter. Raises Refused.

    >>> parsed_filter("metrics.loss < 0.5 and tags.`mlflow.user` like 'ali%'", RUNS)[1]
    Clause(name=Name(kind=<Kind.TAG: ('tag', 'tags')>, key='mlflow.user'), operator='LIKE', value='ali%')
    """
    text = text or ""
    if len(text) > FILTER_LENGTH_MAX:
        raise invalid(f"A filter must have at most {FILTER_LENGTH_MAX:,} characters.")
    clauses: list[Clause] = []
    place = 0
    while not END.match(text, place):
        if clauses:
            place = _next(AND, text, place, "AND").end()
        clause, place = _clause(text, place, grammar)
        clauses.append(clause)
    if len(clauses) > CLAUSES_MAX:
        raise invalid(f"A filter must have at most {CLAUSES_MAX} comparisons.")
    return clauses


def parsed_orders(texts: Iterable[str], grammar: Grammar) -> list[Order]:
    """The columns to sort by, the first one first. Raises Refused.

    >>> parsed_orders(["metrics.acc DESC", "start_time"], RUNS)[0]
    Order(name=Name(kind=<Kind.METRIC: ('metric', 'metrics')>, key='acc'), is_ascending=False)
    """
    orders = [_order(text, grammar) for text in texts]
    if len(orders) > ORDERS_MAX:
        raise invalid(f"A search is sorted by at most {ORDERS_MAX} columns.")
    return orders


def _order(text: str, grammar: Grammar) -> Order:
    name, place = _name(text, 0, grammar)
    direction = DIRECTION.match(text, place)
    place = direction.end() if direction else place
    if not END.match(text, place):
        raise _unexpected(text, place, "ASC or DESC")
    return Order(name, direction is None or direction["direction"].upper() == "ASC")


def _clause(text: str, place: int, grammar: Grammar) -> tuple[Clause, int]:
    name, place = _name(text, place, grammar)
    found = _next(OPERATOR, text, place, "an operator")
    operator = " ".join(found["operator"].upper().split()).replace("<>", "!=")
    if operator not in _operators(name, grammar):
        raise invalid(f"{operator} does not apply to {printable(name.key)!r}.")
    if operator.startswith("IS "):
        return Clause(name, operator), found.end()
    value, place = _value(text, found.end(), operator, is_number=grammar.is_number(name))
    return Clause(name, operator, value), place


def _operators(name: Name, grammar: Grammar) -> frozenset[str]:
    if grammar.is_number(name):
        return OF_NUMBERS
    return OF_TEXTS if name.kind is Kind.ATTRIBUTE else OF_OPTIONAL


def _name(text: str, place: int, grammar: Grammar) -> tuple[Name, int]:
    found = _next(NAME, text, place, "a name")
    word, key = (found["kind"] or "attribute").strip("`"), found["key"].strip('`"')
    kind = next((kind for kind in grammar.kinds if word in kind.value), None)
    if kind is None:
        words = ", ".join(sorted(kind.value[1] for kind in grammar.kinds))
        raise invalid(f"{printable(word)!r} cannot be searched; use {words}.")
    if kind is Kind.ATTRIBUTE:
        key = grammar.other_names.get(key, key)
        if key not in grammar.numbers | grammar.texts:
            known = ", ".join(sorted(grammar.numbers | grammar.texts))
            raise invalid(f"{printable(key)!r} is not an attribute; the attributes are {known}.")
    return Name(kind, key), found.end()


def _value(text: str, place: int, operator: str, *, is_number: bool) -> tuple[float | str | tuple[str, ...], int]:
    if is_number:
        found = _next(NUMBER, text, place, "a number")
        return float(found["number"]), found.end()
    if operator in ("IN", "NOT IN"):
        found = _next(LIST, text, place, "a list of quoted texts")
        return tuple(_unquoted(each[0]) for each in re.finditer(TEXT, found["texts"])), found.end()
    found = _next(QUOTED, text, place, "a quoted text")
    return _unquoted(found["text"]), found.end()


def _unquoted(text: str) -> str:
    return text[1:-1].replace("''", "'") if text[0] == "'" else text[1:-1]


def _next(pattern: re.Pattern[str], text: str, place: int, what: str) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise _unexpected(text, place, what)
    return found


def _unexpected(text: str, place: int, what: str) -> Refused:
    return invalid(f"Expected {what} at {printable(text[place : place + 40]).strip() or 'the end'!r}.")
