"""One calendar month, anonymised and checked, as it is stored."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

import msgspec

from analysis.anonymous.bands import COLUMNS, Run
from analysis.anonymous.checking import Behind, problems
from analysis.anonymous.grouping import Anonymised, Withheld, anonymised

COUNT_STEP = 5
"""Counts of who is withheld are rounded up to this: one more or less of them is one person more or less."""


class NotAnonymousError(Exception):
    """Rows that the check refused; the text names kinds of problems and their number, no value and nobody."""


class WithheldPeople(msgspec.Struct):
    """How many people at most, once for each of the coarsest groups, have runs in no row for this reason."""

    reason: str
    people_at_most: int


class Group(msgspec.Struct):
    """Equal rows: their values in the order of the columns, and the key of each."""

    values: tuple[str, ...]
    keys: list[str]


class AnonymousFigures(msgspec.Struct):
    """What is stored of a month."""

    withheld: list[WithheldPeople]
    groups: list[Group]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(group.keys) for group in self.groups)


def figures_of(runs: Iterable[Run], secret: bytes) -> AnonymousFigures:
    """The rows of a month that passed the check. Raises NotAnonymousError.

    The secret must be made for this call and not be kept.
    """
    return checked(anonymised(runs, secret))


def checked(made: Anonymised) -> AnonymousFigures:
    """What was made, if it passes the check. Raises NotAnonymousError."""
    figures = AnonymousFigures(_withheld(made.withheld), _groups(made))
    behind = {row.key: Behind(row.owner, frozenset(row.part.projects), row.part.gpu_hours) for row in made.rows}
    found = problems(list(rows_of(figures)), behind)
    if found:
        raise NotAnonymousError(" ".join(found))
    return figures


def rows_of(figures: AnonymousFigures) -> Iterator[dict[str, str]]:
    """The rows as they are written: `key`, then a value for each column."""
    for group in figures.groups:
        for key in group.keys:
            yield {"key": key, **dict(zip(COLUMNS, group.values, strict=True))}


def _groups(made: Anonymised) -> list[Group]:
    return [Group(values, [row.key for row in rows]) for values, rows in groupby(made.rows, key=lambda row: row.values)]


def _withheld(counts: Mapping[Withheld, int]) -> list[WithheldPeople]:
    return [WithheldPeople(str(why), -(-count // COUNT_STEP) * COUNT_STEP) for why, count in sorted(counts.items())]
