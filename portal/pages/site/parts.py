"""The tables and the chart of the Site page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from analysis.site.figures import NO_FINDING, Cell, MonthFigures
from analysis.site.selectors import SiteMonth
from portal.charts.columns import Chart, columns, nice_top, scale
from portal.charts.site_claims import WITHHELD_WORDS, number
from reports.wording import TITLES
from wire.classes import CLASS_NAMES

HEADINGS = {
    "class": "Classes",
    "partition": "Partitions",
    "science_field": "Science fields",
    "size": "GPUs of a job",
    "measurement": "Reporting quality",
}
"""The tables in their order on the page; that of the findings is in `sections`."""

NAMES = {
    "class": CLASS_NAMES,
    "finding": {NO_FINDING: "No finding", **{code.value: title for code, title in TITLES.items()}},
    "measurement": {"full": "Measured", "partial": "Measured in part", "none": "Not measured"},
}
PARTS = (("efficient", "Used"), ("wasted", "Unused"), ("unknown", "Not measured"))


@dataclass(frozen=True)
class Row:
    """One group in words; numbers are empty where it is withheld."""

    name: str
    withheld: str
    allocated: str = ""
    used: str = ""
    unused: str = ""


def row(cell: Cell, dimension: str = "") -> Row:
    """A group with its name for people."""
    name = NAMES.get(dimension, {}).get(cell.name, cell.name) or "unknown"
    if cell.withheld:
        return Row(name, WITHHELD_WORDS[cell.withheld])
    return Row(name, "", number(cell.allocated), number(cell.used), number(cell.unused))


def tables(figures: MonthFigures) -> list[tuple[str, str, list[Row]]]:
    """(key, heading, rows) of each table that the month has."""
    return [
        (key, heading, [row(cell, key) for cell in figures.tables[key]])
        for key, heading in HEADINGS.items()
        if key in figures.tables
    ]


def chart(months: Sequence[SiteMonth]) -> Chart:
    """Allocated GPU-hours of each month as used, unused and not measured; a withheld month has no column."""
    names = [f"{month.first_day:%b %Y}" for month in months]
    totals = [month.figures.total for month in months]
    rows = [row(total) for total in totals]
    top = nice_top(max((total.allocated or 0.0 for total in totals), default=0.0))
    texts = [
        f"{name}: {each.withheld or f'{each.allocated} GPU-hours, {each.used} used, {each.unused} unused'}"
        for name, each in zip(names, rows, strict=True)
    ]
    return Chart(
        key="months",
        title="GPU-hours by month",
        summary="Stacked columns: used, unused and not measured GPU-hours of each month.",
        scale=scale(top),
        first_label=names[0],
        last_label=names[-1],
        labels=month_labels([month.first_day for month in months]),
        head=("", "Allocated, GPU-hours", "Used", "Unused (estimate)"),
        rows=tuple(
            (name, each.withheld or each.allocated, each.used or "–", each.unused or "–")
            for name, each in zip(names, rows, strict=True)
        ),
        columns=columns([_stack(total) for total in totals], texts, top),
        legend=PARTS,
    )


def month_labels(days: Sequence[date]) -> tuple[tuple[str, str], ...]:
    """What is written below the column of each month: its name, and the year where it is the first of it.

    >>> month_labels([date(2025, 12, 1), date(2026, 1, 1), date(2026, 2, 1)])
    (('Dec', '2025'), ('Jan', '2026'), ('Feb', ''))
    """
    years = [None, *(day.year for day in days)]
    return tuple(
        (f"{day:%b}", f"{day.year}" if day.year != before else "") for day, before in zip(days, years, strict=False)
    )


def _stack(total: Cell) -> list[tuple[str, float]]:
    if total.withheld:
        return []
    allocated, used, unused = (value or 0.0 for value in (total.allocated, total.used, total.unused))
    values = used, unused, max(allocated - used - unused, 0.0)
    return [(css, value) for (css, _), value in zip(PARTS, values, strict=True)]
