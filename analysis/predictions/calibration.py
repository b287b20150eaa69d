"""How good predictions were, method by method: their errors, and whether their ranges held as often as promised.

A method misses its promise for a quantity if its ranges held so rarely that chance would produce this, or less, in
fewer than 5 of 100 cases at the promised rate: a one-sided binomial test, from 30 answered ranges of at least five
people on. Of one work only the latest 10 count, so that no work decides alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from analysis.feedback import is_anonymous
from analysis.outcomes.quality import chance_of_as_many

RANGES_MIN = 30
CHANCE_MAX = 0.05
OF_WORK_MAX = 10

WITHIN_20, WITHIN_15 = 0.20, 0.15
"""The targets: run times within 20 %, cost within 15 %."""

EDGE = 1e-9
"""What is exactly at a target counts as within: 1.2 - 1 is a little more than 0.2 in binary."""


@dataclass(frozen=True)
class Checked:
    """One answered prediction; `error_fraction` is actual / typical - 1, None where the run only went beyond it.

    `is_inside` and `promised_fraction` are None where it has no range. `is_widened`: the range was at least as wide as
    earlier predictions of the site were off; `is_range_stated`: it was shown.
    """

    user: int
    work: str
    method: str
    quantity: str
    error_fraction: float | None
    promised_fraction: float | None
    is_inside: bool | None
    is_widened: bool = False
    is_range_stated: bool = True


@dataclass(frozen=True)
class Record:
    """Some predictions together: `ranged` of the `answered` had a range, which held `inside` of them.

    `exact` have a known error; of these `within_20` and `within_15` were at most 20 % and 15 % off.
    """

    answered: int
    exact: int
    within_20: int
    within_15: int
    median_error_percent: float | None
    ranged: int
    inside: int
    promised_fraction: float | None


def record_of(checked: Sequence[Checked]) -> Record:
    """The figures of these predictions.

    >>> rows = [Checked(1, "a", "own_quantiles", "run_s", error, 0.8, error < 0.5) for error in (-0.1, 0.2, 0.9)]
    >>> record_of(rows).median_error_percent, record_of(rows).within_20, record_of(rows).inside
    (20.0, 2, 2)
    """
    errors = [abs(each.error_fraction) for each in checked if each.error_fraction is not None]
    promised = [each.promised_fraction for each in checked if each.promised_fraction is not None]
    return Record(
        answered=len(checked),
        exact=len(errors),
        within_20=sum(error <= WITHIN_20 + EDGE for error in errors),
        within_15=sum(error <= WITHIN_15 + EDGE for error in errors),
        median_error_percent=100 * median(errors) if errors else None,
        ranged=len(promised),
        inside=sum(bool(each.is_inside) for each in checked),
        promised_fraction=sum(promised) / len(promised) if promised else None,
    )


def promised_percent(fraction: float) -> int:
    """A promised share in whole percent; never more than is promised.

    >>> promised_percent(0.8), promised_percent(2 / 3), promised_percent(0.57)
    (80, 66, 57)
    """
    # 0.57 * 100 is a little less than 57 in binary.
    return math.floor(round(100 * fraction, 9))


def misses_promise(record: Record) -> bool:
    """Whether ranges held so rarely that it is hardly chance.

    Of 30 ranges that are to hold in 8 of 10 cases at most 19 hold by chance in 2.6 %, at most 20 in 6.1 %.

    >>> [misses_promise(Record(30, 30, 0, 0, None, 30, inside, 0.8)) for inside in (19, 20)]
    [True, False]
    """
    if record.ranged < RANGES_MIN or record.promised_fraction is None:
        return False
    outside = record.ranged - record.inside
    return chance_of_as_many(outside, record.ranged, 1 - record.promised_fraction) < CHANCE_MAX


Kind = tuple[str, str]
"""The method and the quantity."""


def by_kind(checked: Iterable[Checked]) -> dict[Kind, list[Checked]]:
    """The predictions of each method for each quantity, in the order of their names."""
    found: dict[Kind, list[Checked]] = defaultdict(list)
    for each in checked:
        found[each.method, each.quantity].append(each)
    return dict(sorted(found.items()))


def counted(latest_first: Iterable[Checked]) -> list[Checked]:
    """Those that count for the promise of their method: of one work the latest `OF_WORK_MAX`."""
    of_work: dict[str, int] = defaultdict(int)
    found = []
    for each in latest_first:
        of_work[each.work] += 1
        if of_work[each.work] <= OF_WORK_MAX:
            found.append(each)
    return found


def is_of_many(checked: Iterable[Checked]) -> bool:
    """Whether figures of these hide every person in them (`analysis.feedback.is_anonymous`)."""
    return is_anonymous(list(Counter(each.user for each in checked).values()))


class MethodFigures(msgspec.Struct):
    """One method and quantity in one month; nothing but the names where `is_withheld`. Columns as in `Record`."""

    method: str
    quantity: str
    is_withheld: bool = False
    answered: int = 0
    exact: int = 0
    within_20: int = 0
    within_15: int = 0
    median_error_percent: int | None = None
    ranged: int = 0
    inside: int = 0
    promised_percent: int | None = None


def month_figures(checked: Iterable[Checked]) -> list[MethodFigures]:
    """What may be kept of the predictions that were answered in one month.

    Nothing of a method unless both all its predictions and those with a range are of a group that hides everyone in it.
    """
    return [_figures(*kind, rows) for kind, rows in by_kind(checked).items()]


def _figures(method: str, quantity: str, rows: Sequence[Checked]) -> MethodFigures:
    ranged = [row for row in rows if row.promised_fraction is not None]
    if not is_of_many(rows) or (ranged and not is_of_many(ranged)):
        return MethodFigures(method, quantity, is_withheld=True)
    found = record_of(rows)
    return MethodFigures(
        method,
        quantity,
        answered=found.answered,
        exact=found.exact,
        within_20=found.within_20,
        within_15=found.within_15,
        median_error_percent=None if found.median_error_percent is None else round(found.median_error_percent),
        ranged=found.ranged,
        inside=found.inside,
        promised_percent=None if found.promised_fraction is None else promised_percent(found.promised_fraction),
    )
