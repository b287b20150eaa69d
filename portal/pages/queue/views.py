"""What waits and runs now, beside what the allocations have left; loaded again each minute by those who look at it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import last_days
from analysis.rollups.selectors import days_by_project, site_now
from jobs.models import ProjectAllocation
from jobs.queue.selectors import visible_queue
from jobs.selectors import allocations_of, own_memberships, reach_of
from portal.access import person
from portal.charts.forecast import RATE_DAYS, Forecast, forecast_of
from portal.charts.queue_lines import Line, lines_of
from portal.charts.queue_readings import queue_readings
from portal.charts.queue_reasons import DOCUMENTATION
from portal.pages.queue.projects import project_queues
from portal.pages.queue.waits import with_waits

LISTED_MAX = 50
"""Running and pending jobs that are listed one by one; the sums are of all."""


@require_GET
@login_required
def queue_page(request: HttpRequest) -> HttpResponse:
    """The queue as this person sees it: their own jobs, for a PI also those of the project."""
    user, now = person(request), timezone.now()
    reach = reach_of(user)
    found_readings = queue_readings(now)
    read_at = {each.row.cluster: each.row.read_at for each in found_readings if each.row.read_at is not None}
    lines = lines_of(visible_queue(reach), read_at, user.pk)
    projects = {row.project_id: row.project for row in own_memberships(user)}
    projects |= {line.job.project_id: line.job.project for line in lines}
    allocations = allocations_of(projects.values())
    forecasts = _forecasts({line.job.project_id for line in lines} & set(reach.led), allocations)
    found = project_queues(lines, projects, reach.led, allocations, forecasts, timezone.localdate())
    running = sorted((line for line in lines if line.is_running), key=_latest_first)
    pending = sorted((line for line in lines if not line.is_running), key=_longest_first)
    context = {
        "is_configured": bool(settings.QUEUE_CLUSTERS),
        "readings": found_readings,
        "names_cluster": len(read_at) > 1,
        "queues": [one for one in found if one.sums.jobs],
        "others": [one for one in found if not one.sums.jobs and one.allocation and one.allocation.row.gpu_hours],
        "running": running[:LISTED_MAX],
        "running_count": len(running),
        "pending": with_waits(pending[:LISTED_MAX], user.pk, now),
        "pending_count": len(pending),
        "names_project": len({line.job.project_id for line in lines}) > 1,
        "names_owner": any(not line.is_own for line in lines),
        "documentation": DOCUMENTATION,
    }
    return render(request, "portal/queue/queue.html", context)


def _forecasts(led: Collection[int], allocations: Mapping[int, ProjectAllocation]) -> dict[int, Forecast | None]:
    """Where the recent use of these projects leads: three queries for all of them."""
    now = site_now()
    with_hours = [project for project in led if project in allocations]
    days = days_by_project(with_hours, last_days(now, RATE_DAYS)) if with_hours else {}
    return {project: forecast_of(allocations[project], days[project], now) for project in with_hours}


def _latest_first(line: Line) -> tuple[bool, float, int]:
    """Own jobs, then those of others; the last that started first."""
    started_at = line.job.started_at
    return not line.is_own, -started_at.timestamp() if started_at else 0.0, line.job.job_id


def _longest_first(line: Line) -> tuple[bool, bool, float, int]:
    """Own jobs, then those of others; the longest wait first, what cannot start yet last."""
    return not line.is_own, line.waited_s is None, -(line.waited_s or 0.0), line.job.job_id
