"""The dashboard: this month against the last, the advice that would save most, and the latest jobs."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import last_days, month, month_before
from analysis.history.selectors import best_advice, followed_in, overview_of, trend_of
from analysis.selectors import costly_causes_in
from jobs.models import Job
from jobs.selectors import led_projects, visible_jobs
from portal.advice_list import advice_list
from portal.links import job_url

LATEST, ADVICE_MAX, ADVICE_DAYS = 5, 3, 30


@require_GET
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    """Own jobs only: a PI finds those of others under Projects."""
    runs = visible_jobs(request.user).filter(user=request.user)
    latest = list(runs.select_related("efficiency").order_by("-ended_at", "-pk")[:LATEST])
    for run in latest:
        run.url = job_url(run)
    context = {"latest": latest, "leads": led_projects(request.user).exists()}
    if latest:
        context |= _figures(runs)
    return render(request, "portal/dashboard.html", context)


def _figures(runs: QuerySet[Job]) -> dict[str, Any]:
    """This month and the last, the trend, and what to do about it."""
    now = timezone.localtime()
    this_month, last_month, lately = month(now), month_before(now), last_days(now, ADVICE_DAYS)
    return {
        "months": [
            {"name": f"{period.start:%B}", "period": period, "sum": overview_of(runs, period)}
            for period in (this_month, last_month)
        ],
        "followed": [followed_in(runs, period) for period in (this_month, last_month)],
        "trend": trend_of(runs, now),
        "advice": advice_list(
            best_advice(runs, lately, ADVICE_MAX), costly_causes_in(runs, lately, ADVICE_MAX), ADVICE_MAX
        ),
        "advice_days": ADVICE_DAYS,
    }
