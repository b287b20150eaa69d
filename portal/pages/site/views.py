"""Site: sums over everybody's jobs by month, for staff and policy readers; people see their own under History."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.answers.selectors import answers_of_month
from analysis.feedback import GROUP_USERS_MIN
from analysis.outcomes.selectors import SETTLED_AFTER, advice_of_month
from analysis.predictions.selectors import closed_months as closed_months_of_predictions
from analysis.site.figures import NO_FINDING, Cell, MonthFigures
from analysis.site.idle import IdleHours
from analysis.site.selectors import CLOSED_AFTER, SiteMonth, closed_months
from jobs.site_factors import GPU_HOUR
from portal.access import site_page
from portal.charts.advice_outcomes import savings
from portal.charts.answers import answer_rows
from portal.charts.predictions import month_rows
from portal.charts.site_claims import WITHHELD_WORDS, Claim, claims, cost, number
from portal.pages.site.elsewhere import CLASS_COLUMNS, comparisons
from portal.pages.site.parts import Row, chart, row, tables
from portal.pages.site.week import week_of
from reports.numbers import share, unbroken


@site_page
def site(request: HttpRequest) -> HttpResponse:
    """Stored figures alone: the latest month, or one of those shown with `?month=2026-10`."""
    months = closed_months()
    shown = next((month for month in months if f"{month.first_day:%Y-%m}" == request.GET.get("month")), None)
    shown = shown or (months[-1] if months else None)
    context = {
        "users_min": GROUP_USERS_MIN,
        "closed_days": CLOSED_AFTER.days,
        "calendar": settings.TIME_ZONE,
        "months": [(f"{month.first_day:%Y-%m}", f"{month.first_day:%B %Y}") for month in reversed(months)],
    }
    if shown:
        context |= {
            "is_other": request.GET.get("month") not in (None, f"{shown.first_day:%Y-%m}"),
            "shown": f"{shown.first_day:%Y-%m}",
            "shown_name": f"{shown.first_day:%B %Y}",
            "closed_at": shown.closed_at,
            "total": row(shown.figures.total),
            "tables": tables(shown.figures),
            "idle": idle_part(shown.figures.idle),
            "energy_kwh": number(shown.figures.energy_kwh),
            "chart": chart(months),
            **sections(shown),
            "week": week_of(shown.figures.week),
            "predictions": month_rows(closed_months_of_predictions()),
            "elsewhere": comparisons(shown.first_day),
            "class_columns": CLASS_COLUMNS,
        }
    return render(request, "portal/site/site.html", context)


@dataclass(frozen=True)
class FindingCosts:
    """The findings by their unused GPU-hours, each with its money; `unused` adds up those that are shown.

    It is empty where there are findings and all of them are withheld.
    `rows` are (row, its money), without findings last but for what is withheld.
    """

    rows: tuple[tuple[Row, Claim | None], ...]
    unused: str
    money: Claim | None


def sections(month: SiteMonth) -> dict[str, Any]:
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


def finding_costs(month: SiteMonth) -> FindingCosts | None:
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


@dataclass(frozen=True)
class IdlePart:
    """The two sums in words; empty where they are withheld."""

    withheld: str
    wanted: str = ""
    unwanted: str = ""


def idle_part(idle: IdleHours | None) -> IdlePart | None:
    """None where it is not known of every job of the month."""
    if idle is None:
        return None
    if idle.withheld:
        return IdlePart(WITHHELD_WORDS[idle.withheld])
    return IdlePart("", *(_hours(value, idle.step) for value in (idle.wanted, idle.unwanted)))


def _hours(value: float | None, step: float | None) -> str:
    """Rounded hours; what was rounded to 0 is at most half a step, and nothing states whether it is nothing at all.

    >>> _hours(40.0, 20.0), _hours(0.0, 20.0)
    ('40', 'less than\\xa020')
    """
    return number(value) if value else f"less than\u00a0{number(step)}"
