"""History: classes, use, waste and findings over the last days or weeks, and by weekday and hour."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import DAYS_OFFERED, last_days
from analysis.history.selectors import frequent_findings, overview_of, steps_of, trend_of, use_by_weekday
from jobs.selectors import led_projects, visible_jobs
from portal.finding_list import finding_list
from portal.history_charts import charts
from portal.week_grid import week_grid

DAYS_DEFAULT = 90


@require_GET
@login_required
def history(request: HttpRequest) -> HttpResponse:
    """Own jobs; a PI may look at all that this person sees with `?of=all`."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, DAYS_OFFERED) else DAYS_DEFAULT
    leads = led_projects(request.user).exists()
    is_all = leads and request.GET.get("of") == "all"
    runs = visible_jobs(request.user) if is_all else visible_jobs(request.user).filter(user=request.user)
    now = timezone.localtime()
    period = last_days(now, days)
    context = {
        "days": days,
        "days_offered": DAYS_OFFERED,
        "leads": leads,
        "is_all": is_all,
        "sum": overview_of(runs, period),
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, period), period.step),
        "findings": finding_list(frequent_findings(runs, period), period),
        "grid": week_grid(use_by_weekday(runs, period)),
        "step": period.step,
    }
    return render(request, "portal/history.html", context)
