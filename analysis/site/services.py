"""The months of the site: how one is added up."""

from datetime import date, datetime, timedelta
from functools import partial
from random import SystemRandom

from analysis.months.kind import MonthKind
from analysis.months.selectors import month_ends
from analysis.site.figures import MonthFigures, MonthSums
from analysis.site.selectors import CLOSED_AFTER, SETTLED_AFTER, is_being_judged, months_with_runs, runs_of_month
from analysis.waiting.selectors import checks_before, idle_hours_of_month


def _figures(month: date, now: datetime) -> MonthFigures:
    sums = MonthSums(*month_ends(month))
    for run in runs_of_month(month):
        sums.add(run)
    figures = sums.figures(SystemRandom().random)
    figures.idle = idle_hours_of_month(month, figures, now)
    return figures


def _is_ready(settled_after: timedelta, month: date, now: datetime) -> bool:
    """Whether its runs are judged, and it was checked who waited for their idle GPUs: that cannot be added later."""
    return not is_being_judged(month, now - settled_after) and not checks_before(month, now).exists()


def site_months(settled_after: timedelta = SETTLED_AFTER) -> MonthKind:
    """The figures of the whole site, `settled_after` the last judgement of a run of the month."""
    return MonthKind(
        code="site",
        title="the site",
        after=CLOSED_AFTER,
        having=months_with_runs,
        is_ready=partial(_is_ready, settled_after),
        figures=_figures,
    )
