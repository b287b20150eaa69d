"""The dashboard: the biggest savings with their new lines, what to look at, the latest jobs, and the trend."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import last_days, month, month_before
from analysis.history.selectors import followed_in, runs_and_trend, worst_run
from analysis.history.sums import steps_of, trend_of, trend_period
from jobs.selectors import Reach, led_projects, reach_of
from portal.access import person
from portal.charts.history import charts
from portal.pages.dashboard.month_line import month_line
from portal.pages.dashboard.recent import recent_jobs, shown_job
from portal.pages.dashboard.suggestions import to_do
from reports.request_diff import diff_lines

RECENT, SUGGESTED_MAX, SUGGESTED_DAYS, LOOK_AT_DAYS = 5, 3, 30, 14
EXAMPLE = diff_lines(["--gpus-per-node=8 -> --gpus-per-node=2", "--mem=480G -> --mem=120G"])
"""The new lines of the fictional job in `first_steps.html`: two of eight GPUs at 88 % for two hours."""

CHARTS = 2
"""Classes and median use; the history has the rest."""


@require_GET
@login_required
def dashboard(request: HttpRequest) -> HttpResponse:
    """Own jobs only: a PI finds those of others under Projects."""
    reach = reach_of(person(request))
    recent = recent_jobs(reach, RECENT)
    if not recent:
        return _without_jobs(request)
    return render(request, "portal/dashboard/dashboard.html", {"recent": recent, **_figures(reach)})


def _without_jobs(request: HttpRequest) -> HttpResponse:
    """Whoever looks after the portal starts where their work is; everybody else with the first steps."""
    if request.user.is_superuser:
        return redirect("system")
    if request.user.is_staff:
        return redirect("support")
    led = led_projects(person(request)).order_by("name")
    return render(request, "portal/dashboard/first_steps.html", {"led": led, "example": EXAMPLE})


def _figures(reach: Reach) -> dict[str, Any]:
    """What to do next, what to look at, this month beside the last, and the trend."""
    now = timezone.localtime()
    weeks, lately = trend_period(now), last_days(now, SUGGESTED_DAYS)
    this, before = month(now), month_before(now)
    runs = runs_and_trend([reach.own], before.start, now)
    (followed,) = followed_in(reach.own, [this])
    worst = worst_run(reach.own, last_days(now, LOOK_AT_DAYS).start, now)
    return {
        "to_do": to_do(reach.own, lately, SUGGESTED_MAX),
        "days": SUGGESTED_DAYS,
        "month": month_line(runs, this, before, followed),
        "worst": shown_job(worst.job, worst) if worst else None,
        "look_at_days": LOOK_AT_DAYS,
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, weeks), weeks.step)[:CHARTS],
    }
