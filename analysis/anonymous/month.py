"""One calendar month, anonymised and checked, as it is stored and written: `kaiku-institutional/1`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Annotated

import msgspec

from analysis.anonymous.bands import COLUMNS, Run
from analysis.anonymous.checking import Behind, problems
from analysis.anonymous.grouping import Anonymised, Withheld, anonymised

SCHEMA = "kaiku-institutional/1"
COUNT_STEP = 5
"""Counts of who is withheld are rounded up to this: one more or less of them is one person more or less."""

Month = Annotated[str, msgspec.Meta(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]
Key = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$", description="Of this row alone; the secret is gone.")]


class NotAnonymousError(Exception):
    """Rows that the check refused; the text names kinds of problems and their number, no value and nobody."""


class WithheldPeople(msgspec.Struct):
    """How many people at most, once for each of the coarsest groups, have runs in no row for this reason."""

    reason: str
    people_at_most: int


class Head(msgspec.Struct, rename={"schema_name": "schema"}):
    """The first line of a file."""

    schema_name: str
    site: str
    month: Month
    rows: int
    people_min: int
    projects_min: int
    withheld: list[WithheldPeople]


class Group(msgspec.Struct):
    """Equal rows: their values in the order of the columns, and the key of each."""

    values: tuple[str, ...]
    keys: list[Key]


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
    made = anonymised(runs, secret)
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
