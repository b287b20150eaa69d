"""History: classes, use, unused GPU-hours and findings over the last days or weeks, and by weekday and hour."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.history.selectors import days_and_trend, told_by_owners
from analysis.history.sums import use_by_weekday
from analysis.outcomes.selectors import saved_by, sums_by_kind
from analysis.rollups.selectors import own_part, parts_by_site, site_now
from jobs.selectors import reach_of
from portal.access import person
from portal.charts.advice_outcomes import kind_rows
from portal.charts.over_time import asked_period, over_time
from portal.pages.history.week_grid import week_grid


@require_GET
@login_required
def history(request: HttpRequest) -> HttpResponse:
    """Own jobs; a PI may look at all that this person sees with `?of=all`."""
    reach = reach_of(person(request))
    is_all = bool(reach.led) and request.GET.get("of") == "all"
    parts = reach.parts() if is_all else (reach.own,)
    now = site_now()
    days, period = asked_period(now, request.GET.get("days", ""))
    days_read = days_and_trend(parts_by_site(reach) if is_all else [own_part(reach)], period)
    # A PI's Jobs page lists those of others too.
    own = {"owner": person(request).username}
    context = {
        **over_time(days_read, now, days, period, own if reach.led and not is_all else None),
        "leads": bool(reach.led),
        "is_all": is_all,
        "left_out": told_by_owners(reach.parts(), period) if is_all else 0,
        "advice": kind_rows(sums_by_kind(parts, period)),
        "saved": saved_by(*parts),
        "grid": week_grid(use_by_weekday(days_read, period)),
    }
    return render(request, "portal/history/history.html", context)
