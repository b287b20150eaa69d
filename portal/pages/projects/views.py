"""One project: all of it for its PI, their own part for everyone else in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from analysis.escalation.selectors import IS_OPEN, flags_in_project, work_names
from analysis.history.run_sums import Days
from analysis.history.selectors import (
    Member,
    WorkSums,
    days_and_trend,
    listed_by_user,
    members_of,
    told_by_owners,
    works_of,
)
from analysis.history.sums import trend_period
from analysis.outcomes.selectors import saved_by, sums_by_kind
from analysis.rollups.selectors import project_part, site_now
from jobs.models import Job, ProjectAllocation
from jobs.own_runs.rules import personal_project
from jobs.selectors import Reach, allocations_of, own_memberships, reach_of
from portal.access import membership_of, person, signed_in_page
from portal.charts.advice_outcomes import kind_rows
from portal.charts.finding_list import jobs_address, since_of
from portal.charts.flags import FlagCard, flag_cards
from portal.charts.forecast import allocation_line, forecast_of
from portal.charts.over_time import asked_period, over_time
from portal.charts.work_sums import UNNAMED
from portal.pages.projects.burn_down import burn_down_of

WORKS_MAX = FLAGS_MAX = 10


@signed_in_page
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


@signed_in_page
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of this person, with the role in each and the GPU-hours of each."""
    memberships, today = list(own_memberships(person(request))), timezone.localdate()
    allocations = allocations_of([membership.project for membership in memberships])
    rows = [(membership, allocation_line(allocations.get(membership.project_id), today)) for membership in memberships]
    return render(request, "portal/projects/projects.html", {"memberships": rows})


@dataclass(frozen=True)
class MemberRow:
    """One member and the link to their jobs, of which `uncounted` are in no sum.

    `wasted_fraction` is None without hours.
    """

    sums: Member
    url: str
    uncounted: int

    @property
    def wasted_fraction(self) -> float | None:
        return self.sums.wasted_gpu_hours / self.sums.gpu_hours if self.sums.gpu_hours else None


@dataclass(frozen=True)
class WorkRow:
    """One work by the name of its latest run, whose it is, its page, and its jobs in the period by its exact key.

    Without links where nothing names it.
    """

    name: str
    owner: str
    url: str
    jobs_url: str
    sums: WorkSums

    @property
    def wasted_fraction(self) -> float | None:
        hours, wasted = self.sums.gpu_hours, self.sums.wasted_gpu_hours
        return wasted / hours if hours and wasted is not None else None


def member_rows(members: Sequence[Member], listed: Mapping[int, int], chosen: Mapping[str, str]) -> list[MemberRow]:
    """The members in their order; links keep what is `chosen`, and lead to as many jobs as are `listed`."""
    return [
        MemberRow(
            member,
            jobs_address({**chosen, "owner": member.username}),
            max(listed.get(member.pk, 0) - member.jobs, 0),
        )
        for member in members
    ]


def work_rows(works: Sequence[WorkSums], chosen: Mapping[str, str]) -> list[WorkRow]:
    """The works in their order, named after their latest runs: one query."""
    latest = Job.objects.select_related("user").in_bulk([work.latest_pk for work in works])
    return [_work_row(work, latest[work.latest_pk], chosen) for work in works if work.latest_pk in latest]


def _work_row(work: WorkSums, run: Job, chosen: Mapping[str, str]) -> WorkRow:
    if not work.key:
        return WorkRow(UNNAMED, "", "", "", work)
    name = run.job_name or f"Job {run.job_id}"
    jobs_url = jobs_address({**chosen, "work": work.key})
    return WorkRow(name, run.user.username, reverse("work", args=[work.key]), jobs_url, work)
