"""What the history and the page of a project share: the days asked for, and what the runs of them add up to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from analysis.history.columns import RunColumns
from analysis.history.periods import DAYS_OFFERED, Period, last_days
from analysis.history.sums import frequent_findings, overview_of, steps_of, trend_of
from portal.charts.finding_list import finding_list
from portal.charts.history import charts

DAYS_DEFAULT = 90


def asked_period(now: datetime, asked: str) -> tuple[int, Period]:
    """The offered number of days that stands in an address, or the default, and the period that ends now."""
    days = int(asked) if asked in map(str, DAYS_OFFERED) else DAYS_DEFAULT
    return days, last_days(now, days)


def over_time(runs: RunColumns, now: datetime, days: int, period: Period) -> dict[str, Any]:
    """Sums, trend, charts and findings, as `portal/_over_time.html` shows them."""
    return {
        "days": days,
        "days_offered": DAYS_OFFERED,
        "sum": overview_of(runs, period),
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, period), period.step),
        "findings": finding_list(frequent_findings(runs, period), period),
        "step": period.step,
    }
