"""The same kinds of work here and at other sites, as the Site page shows them: anonymised rows on both sides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from analysis.anonymous.bands import OTHER, UNKNOWN
from analysis.elsewhere.comparison import Pair, Side
from analysis.elsewhere.selectors import OtherSite, sites_compared
from reports.numbers import share
from wire.classes import CLASS_NAMES, FROM_PERCENT

HEADINGS = {"partition_type": "Nodes", "gpus": "GPUs of a job", "program": "Programs"}
NAMES = {
    **{"whole_nodes": "Whole nodes", "shared": "Shared nodes", "llm_training": "LLM training"},
    **{"quantum_espresso": "Quantum ESPRESSO", UNKNOWN: "Not known", OTHER: "Other"},
}
CLASS_COLUMNS = tuple(CLASS_NAMES[name] for name in FROM_PERCENT)
NOT_STATED = "–"


@dataclass(frozen=True)
class SideRow:
    """One group at one site in words; `cells` is empty where the site has too few rows of it."""

    where: str
    rows: str = ""
    cells: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Another site: `tables` of (key, heading, groups), a group its name with the rows of this site and of the other.

    `is_other_month`: its rows are of another month than those of this site.
    """

    name: str
    kind: str
    month: str
    is_other_month: bool
    tables: tuple[tuple[str, str, tuple[tuple[str, tuple[SideRow, SideRow]], ...]], ...]


def comparisons(month: date) -> list[Comparison] | None:
    """The other sites beside a month; None where it has no anonymised rows yet."""
    found = sites_compared(month)
    return None if found is None else [_comparison(each, month) for each in found]


def _comparison(site: OtherSite, month: date) -> Comparison:
    tables = ((dimension, HEADINGS[dimension], tuple(_groups(pairs, site.name))) for dimension, pairs in site.tables)
    return Comparison(
        site.name, site.form, f"{site.month:%B %Y}", site.month != month, tuple(table for table in tables if table[2])
    )


def _groups(pairs: Sequence[Pair], there: str) -> Iterator[tuple[str, tuple[SideRow, SideRow]]]:
    for pair in pairs:
        yield _name(pair.name), (_row("Here", pair.here), _row(there, pair.there))


def _name(name: str) -> str:
    """A value of a row in words.

    >>> _name("quantum_espresso"), _name("gromacs"), _name("2-8")
    ('Quantum ESPRESSO', 'gromacs', '2–8')
    """
    return NAMES.get(name) or (name.replace("-", "–") if name[0].isdigit() else name)


def _row(where: str, side: Side | None) -> SideRow:
    if side is None:
        return SideRow(where)
    shares = (share(side.classes[name] / side.judged) if side.judged else NOT_STATED for name in FROM_PERCENT)
    median = f"{side.median_use.replace('-', '–')}\u00a0%" if side.median_use else NOT_STATED
    completed = share(side.completed / side.ended) if side.ended else NOT_STATED
    return SideRow(where, f"{side.rows:,}", (median, *shares, completed))
