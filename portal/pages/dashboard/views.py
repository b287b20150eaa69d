"""The dashboard: the biggest savings with their new lines, what to look at, the latest jobs, and the trend."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import Period, last_days, month, month_before
from analysis.history.selectors import days_and_trend, worst_run
from analysis.history.sums import steps_of, trend_of, trend_period
from analysis.outcomes.selectors import saved_by
from analysis.rollups.selectors import own_part, site_now
from jobs.selectors import Reach, led_projects, reach_of
from portal.access import person
from portal.charts.history import classes_and_median
from portal.charts.recent_jobs import recent_jobs, shown_job
from portal.charts.running import FEW_MAX, RunningJobs, running_jobs
from portal.pages.dashboard.flag_notice import flag_notice
from portal.pages.dashboard.led_line import led_line
from portal.pages.dashboard.month_line import month_line
from portal.pages.dashboard.sample_report import sample_page
from portal.pages.dashboard.suggestions import to_do

RECENT, SUGGESTED_MAX, SUGGESTED_DAYS, LOOK_AT_DAYS = 5, 3, 30, 14


@require_GET
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    """Own jobs only, and for a PI one line on the project with the way to its page."""
    reach = reach_of(person(request))
    recent = recent_jobs(reach, RECENT)
    running = running_jobs(reach, timezone.now(), FEW_MAX, is_own=True)
    if not recent:
        return _without_jobs(request, running)
    context = {
        "running": running,
        "recent": recent,
        "flagged": flag_notice(person(request), reach),
        "led": led_line(person(request), month(site_now())),
        **_figures(reach),
    }
    return render(request, "portal/dashboard/dashboard.html", context)


def _without_jobs(request: HttpRequest, running: RunningJobs) -> HttpResponse:
    """Whoever looks after the portal starts where their work is; everybody else with the first steps."""
    if request.user.is_superuser:
        return redirect("system")
    if request.user.is_staff:
        return redirect("support")
    led = led_projects(person(request)).order_by("name")
    return render(
        request, "portal/dashboard/first_steps.html", {"led": led, "example": sample_page(), "running": running}
    )


def _figures(reach: Reach) -> dict[str, Any]:
    """What to do next, what to look at, this month beside the last, and the trend."""
    now = site_now()
    weeks, lately = trend_period(now), last_days(now, SUGGESTED_DAYS)
    this, before = month(now), month_before(now)
    runs = days_and_trend([own_part(reach)], Period(before.start, now))
    worst = worst_run(reach.own, last_days(now, LOOK_AT_DAYS).start, now)
    return {
        "to_do": to_do(reach.own, lately, SUGGESTED_MAX),
        "days": SUGGESTED_DAYS,
        "month": month_line(runs, this, before, saved_by(reach.own)),
        "worst": shown_job(worst.job, worst) if worst else None,
        "look_at_days": LOOK_AT_DAYS,
        "trend": trend_of(runs, now),
        "chart": classes_and_median(steps_of(runs, weeks), weeks.step),
    }
