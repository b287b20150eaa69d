"""One project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.selectors import members_of, runs_and_trend, told_by_owners
from jobs.own_runs.rules import personal_project
from jobs.selectors import BY_SITE, allocations_of, own_memberships, reach_of
from portal.access import membership_of
from portal.charts.over_time import asked_period, over_time
from portal.pages.projects.allocation_line import allocation_line


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
    return render(request, "portal/projects/project.html", context)


@require_GET
@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of this person, with the role in each and the GPU-hours of each."""
    memberships, today = list(own_memberships(request.user)), timezone.localdate()
    allocations = allocations_of([membership.project for membership in memberships])
    rows = [(membership, allocation_line(allocations.get(membership.project_id), today)) for membership in memberships]
    return render(request, "portal/projects/projects.html", {"memberships": rows})
