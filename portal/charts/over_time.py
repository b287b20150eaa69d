"""What the history and the page of a project share: the chosen days, and what the runs of them add up to."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings

from analysis.history.periods import DAYS_OFFERED, Period, last_days
from analysis.history.run_sums import Days
from analysis.history.sums import frequent_findings, overview_of, steps_of, trend_of
from portal.charts.finding_list import finding_list, since_of
from portal.charts.history import charts

DAYS_DEFAULT = 90


def asked_period(now: datetime, asked: str) -> tuple[int, Period]:
    """The offered number of days that stands in an address, or the default, and the period that ends now."""
    days = int(asked) if asked in map(str, DAYS_OFFERED) else DAYS_DEFAULT
    return days, last_days(now, days)


def over_time(
    runs: Days, now: datetime, days: int, period: Period, whose: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Sums, trend, charts and findings, as the parts of templates show them.

    `whose` are the filters of the Jobs page that leave the runs of this page; links to it keep them and the period.
    """
    chosen = {**(whose or {}), **since_of(period)}
    seen = overview_of(runs, period)
    findings = finding_list(frequent_findings(runs, period), period, chosen)
    return {
        "days": days,
        "days_offered": DAYS_OFFERED,
        "sum": seen,
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, period), period.step),
        "findings": findings,
        "without_finding": seen.wasted_gpu_hours - sum(row.wasted_gpu_hours for row in findings),
        "step": period.step,
        "calendar": settings.TIME_ZONE,
    }
