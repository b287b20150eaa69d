"""The same kinds of work here and at another site: how many people's rows, how well GPUs are used, how runs end.

Both sides are anonymised rows, in which each combination is shared by at least five people: sums of them reveal no
more. A row is one person with runs of one kind, so nobody counts more for running much.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from analysis.anonymous.bands import ANY, COLUMNS, OTHER, UNKNOWN, Values, coarse_gpus
from wire.classes import FROM_PERCENT, bands

DIMENSIONS = ("partition_type", "gpus", "program")
CLASS_BANDS = bands()

ROWS_MIN = 5
"""A group with fewer rows is not shown; as combinations have five, these are files of another make."""

Groups = Mapping[Values, int]
"""Combination of values -> its rows."""


@dataclass(frozen=True)
class Side:
    """One group at one site.

    `judged` rows state a class, `classes` are these by class. `median_use` is the band of use, in percent, in which
    the middle one of them is; empty where no row states a class.
    """

    rows: int
    judged: int
    classes: Mapping[str, int]
    median_use: str
    ended: int
    completed: int


@dataclass(frozen=True)
class Pair:
    """One group here and there, None where a side has too few rows of it."""

    name: str
    here: Side | None
    there: Side | None


def compared(here: Groups, there: Groups, dimension: str) -> list[Pair]:
    """The groups of a dimension that either side has, by name, the merged and the unknown last.

    Rows that do not state it are in none.
    """
    ours, theirs = _by_name(here, dimension), _by_name(there, dimension)
    pairs = (
        Pair(name, _side(ours.get(name, {})), _side(theirs.get(name, {}))) for name in sorted(ours | theirs, key=_order)
    )
    return [pair for pair in pairs if pair.here or pair.there]


def _order(name: str) -> tuple[bool, str]:
    return name in (OTHER, UNKNOWN), name


def _by_name(groups: Groups, dimension: str) -> dict[str, dict[Values, int]]:
    place = COLUMNS.index(dimension)
    found: dict[str, dict[Values, int]] = {}
    for values, count in groups.items():
        name = coarse_gpus(values[place]) if dimension == "gpus" else values[place]
        if name != ANY:
            found.setdefault(name, {})[values] = count
    return found


def _side(groups: Groups) -> Side | None:
    rows = sum(groups.values())
    if rows < ROWS_MIN:
        return None
    classes, endings = _counts(groups, "efficiency_class"), _counts(groups, "ending")
    judged = {name: classes[name] for name in FROM_PERCENT}
    return Side(
        rows=rows,
        judged=sum(judged.values()),
        classes=judged,
        median_use=_median(_uses(groups)),
        ended=endings.total() - endings[ANY],
        completed=endings["completed"],
    )


def _counts(groups: Groups, column: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for values, count in groups.items():
        counts[values[COLUMNS.index(column)]] += count
    return counts


def _uses(groups: Groups) -> Iterator[tuple[str, int]]:
    """The use that rows state, or else that of their class."""
    use, judged = COLUMNS.index("gpu_use_percent"), COLUMNS.index("efficiency_class")
    for values, count in groups.items():
        if values[judged] in CLASS_BANDS:
            yield (values[use] if values[use] not in (ANY, UNKNOWN) else CLASS_BANDS[values[judged]]), count


def _median(uses: Iterable[tuple[str, int]]) -> str:
    """The band in the middle, by the middles of the bands; the lower one of two.

    >>> _median([("0-15", 5), ("70-100", 5), ("40-55", 5)]), _median([])
    ('40-55', '')
    """
    in_order = sorted(uses, key=lambda each: sum(map(int, each[0].split("-"))))
    left = (sum(count for _, count in in_order) + 1) // 2
    for band, count in in_order:
        left -= count
        if left <= 0:
            return band
    return ""
