"""One project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from analysis.escalation.selectors import IS_OPEN, flags_in_project, work_names
from analysis.history.run_sums import Days
from analysis.history.selectors import days_and_trend, listed_by_user, members_of, told_by_owners, works_of
from analysis.history.sums import trend_period
from analysis.outcomes.selectors import saved_by, sums_by_kind
from analysis.rollups.selectors import project_part, site_now
from jobs.models import ProjectAllocation
from jobs.own_runs.rules import personal_project
from jobs.selectors import Reach, allocations_of, own_memberships, reach_of
from portal.access import membership_of, person
from portal.charts.advice_outcomes import kind_rows
from portal.charts.allocation_line import allocation_line
from portal.charts.finding_list import since_of
from portal.charts.flags import FlagCard, flag_cards
from portal.charts.forecast import forecast_of
from portal.charts.over_time import asked_period, over_time
from portal.pages.projects.burn_down import burn_down_of
from portal.pages.projects.tables import member_rows, work_rows

WORKS_MAX = FLAGS_MAX = 10


@require_GET
@login_required
def project(request: HttpRequest, name: str) -> HttpResponse:
    """Allocation, classes, hours and findings of the last days by work; members and the forecast for the PI alone."""
    membership = membership_of(person(request), name)
    reach = reach_of(person(request))
    leads = membership.project_id in reach.led
    now = site_now()
    days, period = asked_period(now, request.GET.get("days", ""))
    part = reach.of_project(membership.project_id)
    whose = project_part(reach, membership.project_id)
    runs = days_and_trend([whose], period)
    context = over_time(runs, now, days, period, {"project": name})
    chosen = {"project": name, **since_of(period)}
    allocation = allocations_of([membership.project]).get(membership.project_id)
    listed = listed_by_user(part, period)
    works = works_of(whose, period, WORKS_MAX + 1)
    context |= {
        "project": membership.project,
        "leads": leads,
        "is_personal": name == personal_project(person(request).username),
        "left_out": told_by_owners([part], period) if leads else 0,
        "members": member_rows(members_of(membership.project, period), listed, chosen) if leads else [],
        "works": work_rows(works[:WORKS_MAX], chosen),
        "has_more_works": len(works) > WORKS_MAX,
        "chosen": urlencode(chosen),
        "listed": sum(listed.values()),
        "listed_uncounted": max(sum(listed.values()) - context["sum"].jobs, 0),
        "advice": kind_rows(sums_by_kind([part], period)),
        "saved": saved_by(part),
        "allocation": allocation_line(allocation, now.date()),
        "flag_cards": _flag_cards(reach, membership.project_id),
    }
    if leads and allocation:
        context |= _burn_down(allocation, runs, now, min(period.start, trend_period(now).start))
    return render(request, "portal/projects/project.html", context)


def _flag_cards(reach: Reach, project_pk: int) -> list[FlagCard]:
    """The raised flags of the project and of its works, for its PI."""
    found = list(flags_in_project(reach, project_pk).filter(IS_OPEN)[:FLAGS_MAX])
    return flag_cards(found, work_names(found), timezone.now(), leads=True)


def _burn_down(row: ProjectAllocation, runs: Days, now: datetime, since: datetime) -> dict[str, Any]:
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
