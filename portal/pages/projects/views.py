"""One project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.columns import RunColumns
from analysis.history.selectors import listed_by_user, members_of, runs_and_trend, told_by_owners, works_of
from analysis.history.sums import trend_period
from jobs.models import ProjectAllocation
from jobs.own_runs.rules import personal_project
from jobs.selectors import BY_SITE, allocations_of, own_memberships, reach_of
from portal.access import membership_of, person
from portal.charts.over_time import asked_period, over_time
from portal.pages.projects.allocation_line import allocation_line
from portal.pages.projects.burn_down import burn_down_of
from portal.pages.projects.forecast import forecast_of
from portal.pages.projects.tables import member_rows, work_rows

WORKS_MAX = 10


@require_GET
@login_required
def project(request: HttpRequest, name: str) -> HttpResponse:
    """Allocation, classes, hours and findings of the last days by work; members and the forecast for the PI alone."""
    membership = membership_of(person(request), name)
    reach = reach_of(person(request))
    leads = membership.project_id in reach.led
    now = timezone.localtime()
    days, period = asked_period(now, request.GET.get("days", ""))
    part = reach.of_project(membership.project_id)
    whose = part & BY_SITE if leads else part
    runs = runs_and_trend([whose], period.start, now)
    context = over_time(runs, now, days, period, {"project": name})
    chosen = {"project": name, "since": context["since"]}
    allocation = allocations_of([membership.project]).get(membership.project_id)
    listed = listed_by_user(part, period)
    works = works_of(whose, period, WORKS_MAX + 1)
    context |= {
        "project": membership.project,
        "leads": leads,
        "is_personal": name == personal_project(person(request).username),
        "left_out": told_by_owners([part], period) if leads else 0,
        "members": member_rows(members_of(membership.project, runs, period), listed, chosen) if leads else [],
        "works": work_rows(works[:WORKS_MAX], chosen),
        "has_more_works": len(works) > WORKS_MAX,
        "listed": sum(listed.values()),
        "listed_uncounted": max(sum(listed.values()) - context["sum"].jobs, 0),
        "allocation": allocation_line(allocation, now.date()),
    }
    if leads and allocation:
        context |= _burn_down(allocation, runs, now, min(period.start, trend_period(now).start))
    return render(request, "portal/projects/project.html", context)


def _burn_down(row: ProjectAllocation, runs: RunColumns, now: datetime, since: datetime) -> dict[str, Any]:
    """How the hours of the project went down since then, and where that leads."""
    forecast = forecast_of(row, runs, now)
    return {"forecast": forecast, "burn_down": burn_down_of(row, forecast, runs, since, now.date())}


@require_GET
@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of this person, with the role in each and the GPU-hours of each."""
    memberships, today = list(own_memberships(person(request))), timezone.localdate()
    allocations = allocations_of([membership.project for membership in memberships])
    rows = [(membership, allocation_line(allocations.get(membership.project_id), today)) for membership in memberships]
    return render(request, "portal/projects/projects.html", {"memberships": rows})
