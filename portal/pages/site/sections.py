"""The sections of the Site page beside its tables: cost of the findings, savings, answers, reporting quality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.answers.selectors import answers_of_month
from analysis.outcomes.selectors import SETTLED_AFTER, advice_of_month
from analysis.site.figures import NO_FINDING, Cell, MonthFigures
from analysis.site.selectors import ClosedMonth
from jobs.site_factors import GPU_HOUR
from portal.charts.advice_savings import savings
from portal.charts.answers import answer_rows
from portal.charts.site_claims import Claim, claims, cost, number
from portal.pages.site.parts import Row, row
from reports.numbers import share, unbroken


@dataclass(frozen=True)
class FindingCosts:
    """The findings by their unused GPU-hours, each with its money; `unused` adds up those that are shown.

    It is empty where there are findings and all of them are withheld.
    `rows` are (row, its money), without findings last but for what is withheld.
    """

    rows: tuple[tuple[Row, Claim | None], ...]
    unused: str
    money: Claim | None


def sections(month: ClosedMonth) -> dict[str, Any]:
    """What the templates beside `site.html` show of a month."""
    advice, answers = advice_of_month(month.first_day), answers_of_month(month.first_day)
    costs = finding_costs(month)
    return {
        "claims": claims(month.figures, month.first_day),
        "costs": costs,
        "has_prices": costs is not None and costs.money is not None,
        "savings": None if advice is None else savings(advice, month.first_day),
        "settled_days": SETTLED_AFTER.days,
        "answers": None if answers is None else answer_rows(answers),
        "quality": quality(month.figures),
    }


def finding_costs(month: ClosedMonth) -> FindingCosts | None:
    """The unused GPU-hours by first finding, the most first; None for a month that is withheld."""
    cells = month.figures.tables.get("finding")
    if cells is None:
        return None
    in_order = sorted(cells, key=lambda cell: (bool(cell.withheld), cell.name == NO_FINDING, -(cell.unused or 0.0)))
    findings = [cell for cell in cells if cell.name != NO_FINDING]
    is_hidden = bool(findings) and all(cell.withheld for cell in findings)
    unused = None if is_hidden else round(sum(cell.unused or 0.0 for cell in findings), 9)
    rows = ((row(cell, "finding"), cost(cell.unused, GPU_HOUR, month.first_day)) for cell in in_order)
    return FindingCosts(tuple(rows), number(unused), cost(unused, GPU_HOUR, month.first_day))


def quality(figures: MonthFigures) -> list[tuple[str, str]]:
    """How much of the allocated GPU-hours was measured, in words, from what is shown."""
    total = figures.total
    if total.allocated is None or "measurement" not in figures.tables:
        return []
    measured = min((total.used or 0.0) + (total.unused or 0.0), total.allocated)
    groups = {cell.name: cell for cell in figures.tables["measurement"]}
    return [
        ("Measured by collectors", _part(measured, total.allocated)),
        ("Not measured", _part(total.allocated - measured, total.allocated)),
        ("In jobs that were measured in part", _of_group(groups.get("partial"), total.allocated)),
        ("In jobs without any measurement", _of_group(groups.get("none"), total.allocated)),
    ]


def _of_group(cell: Cell | None, allocated: float) -> str:
    if cell is not None and cell.withheld:
        return row(cell).withheld
    return _part((cell.allocated or 0.0) if cell else 0.0, allocated)


def _part(hours: float, allocated: float) -> str:
    if not allocated:
        return f"{number(hours)} GPU-hours"
    return unbroken(f"{number(round(hours, 9))} GPU-hours ({share(hours / allocated)})")
