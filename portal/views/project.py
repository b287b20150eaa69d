"""One project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.selectors import members_of, runs_and_trend, told_by_owners
from jobs.own_runs.rules import personal_project
from jobs.selectors import BY_SITE, allocations_of, reach_of
from portal.access import membership_of
from portal.parts.allocation_line import allocation_line
from portal.parts.over_time import asked_period, over_time


@require_GET
@login_required
def project(request: HttpRequest, name: str) -> HttpResponse:
    """Allocation, classes, hours, waste and findings of the last days; members and their sums for the PI alone."""
    membership = membership_of(request.user, name)
    reach = reach_of(request.user)
    leads = membership.project_id in reach.led
    now = timezone.localtime()
    days, period = asked_period(now, request.GET.get("days", ""))
    whose = reach.of_project(membership.project_id)
    runs = runs_and_trend([whose & BY_SITE if leads else whose], period.start, now)
    members = members_of(membership.project, runs, period) if leads else []
    allocation = allocations_of([membership.project]).get(membership.project_id)
    context = {
        **over_time(runs, now, days, period),
        "project": membership.project,
        "leads": leads,
        "is_personal": name == personal_project(request.user.username),
        "left_out": told_by_owners([whose], period) if leads else 0,
        "members": members,
        "allocation": allocation_line(allocation, now.date()),
    }
    return render(request, "portal/project.html", context)
