"""Closing the months of the site: each one is added up once, and never again."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import partial
from random import SystemRandom

import msgspec

from analysis.site.figures import MonthSums
from analysis.site.models import SiteMonth
from analysis.site.selectors import SETTLED_AFTER, month_ends, months_to_close, runs_of_month
from analysis.waiting.selectors import checks_before, idle_hours_of_month
from jobs.failures.services import Work, attempt_each

CLOSE_MONTH = "month of the site"


def close_months(now: datetime, settled_after: timedelta = SETTLED_AFTER) -> int:
    """Store the figures of every month that can be closed; how many months.

    First it is checked who waited for the idle GPUs of the month: once it is closed, that can no longer be added.
    """
    months = [month for month in months_to_close(now, settled_after) if not checks_before(month, now).exists()]
    due = [int(f"{month:%Y%m}") for month in months]
    return attempt_each(Work(CLOSE_MONTH, partial(_close, now=now), is_recurring=True), [due], now).done


def _close(key: int, now: datetime) -> int:
    month = date(key // 100, key % 100, 1)
    if SiteMonth.objects.filter(first_day=month).exists():
        return 0
    sums = MonthSums(*month_ends(month))
    for run in runs_of_month(month):
        sums.add(run)
    figures = sums.figures(SystemRandom().random)
    figures.idle = idle_hours_of_month(month, figures, now)
    row = SiteMonth(first_day=month, figures=msgspec.to_builtins(figures), closed_at=now)
    # Another worker whose claim ended may have stored it: the first answer stays.
    SiteMonth.objects.bulk_create([row], ignore_conflicts=True)
    return 1
