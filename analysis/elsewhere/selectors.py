"""Reading what other sites shared, beside the anonymised rows of this site."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from analysis.anonymous.bands import COLUMNS
from analysis.anonymous.selectors import anonymous_figures
from analysis.elsewhere.comparison import DIMENSIONS, Groups, Pair, compared
from analysis.elsewhere.models import ElsewhereMonth


@dataclass(frozen=True)
class OtherSite:
    """One format of one other site, in its month that fits best, compared dimension by dimension."""

    name: str
    form: str
    month: date
    tables: tuple[tuple[str, Sequence[Pair]], ...]


def sites_compared(month: date) -> list[OtherSite] | None:
    """The other sites beside a month of this one; None where the month is not anonymised.

    Of each site and format its rows of the same month are taken, else those of its latest one.
    """
    figures = anonymous_figures(month)
    if figures is None:
        return None
    here = {group.values: len(group.keys) for group in figures.groups}
    return [_compared(here, row) for row in _fitting(month)]


def _fitting(month: date) -> list[ElsewhereMonth]:
    best: dict[tuple[str, str], tuple[date, int]] = {}
    in_order = ElsewhereMonth.objects.order_by("site", "form", "first_day")
    for site, form, first_day, key in in_order.values_list("site", "form", "first_day", "pk"):
        if best.get((site, form), (None, 0))[0] != month:
            best[site, form] = (first_day, key)
    return list(in_order.filter(pk__in=[key for _, key in best.values()]))


def _compared(here: Groups, row: ElsewhereMonth) -> OtherSite:
    there = {tuple(values): count for values, count in row.groups if len(values) == len(COLUMNS)}
    tables = ((dimension, compared(here, there, dimension)) for dimension in DIMENSIONS)
    return OtherSite(row.site, row.get_form_display(), row.first_day, tuple(tables))


def other_sites() -> list[str]:
    """The names of the sites that shared anything."""
    return list(ElsewhereMonth.objects.order_by("site").values_list("site", flat=True).distinct())
