"""The dashboard: this month against the last, the advice that would save most, and the latest jobs."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import last_days, month, month_before
from analysis.history.selectors import best_advice, costly_causes_in, followed_in, runs_and_trend
from analysis.history.sums import overview_of, steps_of, trend_of, trend_period
from jobs.selectors import Reach, jobs_within, reach_of
from portal.charts.history import charts
from portal.pages.dashboard.advice_list import advice_list
from reports.services.links import job_url

LATEST, ADVICE_MAX, ADVICE_DAYS = 5, 3, 30
CHARTS = 2
"""Classes and median use; the history has the rest."""


@require_GET
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    """Own jobs only: a PI finds those of others under Projects."""
    reach = reach_of(request.user)
    runs = jobs_within(reach).filter(reach.own).select_related("efficiency")
    latest = list(runs.order_by("-ended_at", "-pk")[:LATEST])
    for run in latest:
        run.url = job_url(run)
    context = {"latest": latest, "leads": bool(reach.led)}
    if latest:
        context |= _figures(reach)
    return render(request, "portal/dashboard/dashboard.html", context)


def _figures(reach: Reach) -> dict[str, Any]:
    """This month and the last, the trend, and what to do about it."""
    now = timezone.localtime()
    weeks = trend_period(now)
    months, lately = (month(now), month_before(now)), last_days(now, ADVICE_DAYS)
    runs = runs_and_trend([reach.own], months[1].start, now)
    return {
        "months": [
            {"name": f"{period.start:%B}", "period": period, "sum": overview_of(runs, period)} for period in months
        ],
        "followed": followed_in(reach.own, months),
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, weeks), weeks.step)[:CHARTS],
        "advice": advice_list(
            best_advice(reach.own, lately, ADVICE_MAX), costly_causes_in(reach.own, lately, ADVICE_MAX), ADVICE_MAX
        ),
        "advice_days": ADVICE_DAYS,
    }
