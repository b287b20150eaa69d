"""History: classes, use, waste and findings over the last days or weeks, and by weekday and hour."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.selectors import use_by_weekday
from jobs.selectors import led_projects, visible_jobs
from portal.over_time import asked_period, over_time
from portal.week_grid import week_grid


@require_GET
@login_required
def history(request: HttpRequest) -> HttpResponse:
    """Own jobs; a PI may look at all that this person sees with `?of=all`."""
    leads = led_projects(request.user).exists()
    is_all = leads and request.GET.get("of") == "all"
    runs = visible_jobs(request.user) if is_all else visible_jobs(request.user).filter(user=request.user)
    now = timezone.localtime()
    days, period = asked_period(now, request.GET.get("days", ""))
    grid = week_grid(use_by_weekday(runs, period))
    context = {**over_time(runs, now, days, period), "leads": leads, "is_all": is_all, "grid": grid}
    return render(request, "portal/history.html", context)
