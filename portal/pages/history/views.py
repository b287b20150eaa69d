"""History: classes, use, unused GPU-hours and findings over the last days or weeks, and by weekday and hour."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.selectors import runs_and_trend, told_by_owners
from analysis.history.sums import use_by_weekday
from jobs.selectors import BY_SITE, reach_of
from portal.access import person
from portal.charts.over_time import asked_period, over_time
from portal.pages.history.week_grid import week_grid


@require_GET
@login_required
def history(request: HttpRequest) -> HttpResponse:
    """Own jobs; a PI may look at all that this person sees with `?of=all`."""
    reach = reach_of(person(request))
    is_all = bool(reach.led) and request.GET.get("of") == "all"
    now = timezone.localtime()
    days, period = asked_period(now, request.GET.get("days", ""))
    whose = [part & BY_SITE for part in reach.parts()] if is_all else [reach.own]
    runs = runs_and_trend(whose, period.start, now)
    # A PI's Jobs page lists those of others too.
    own = {"owner": person(request).username}
    context = {
        **over_time(runs, now, days, period, own if reach.led and not is_all else None),
        "leads": bool(reach.led),
        "is_all": is_all,
        "left_out": told_by_owners(reach.parts(), period) if is_all else 0,
        "grid": week_grid(use_by_weekday(runs, period)),
    }
    return render(request, "portal/history/history.html", context)
