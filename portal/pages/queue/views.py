"""What waits and runs now, beside what the allocations have left; loaded again each minute by those who look at it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.history.periods import last_days
from analysis.queue_waits.ranges import WaitEstimate
from analysis.queue_waits.selectors import WaitHistory, wait_estimate
from analysis.rollups.selectors import days_by_project, site_now
from jobs.models import ProjectAllocation
from jobs.queue.selectors import visible_queue
from jobs.selectors import allocations_of, own_memberships, reach_of
from portal.access import person, signed_in_page
from portal.charts.forecast import RATE_DAYS, Forecast, forecast_of
from portal.charts.queue_lines import Line, lines_of, queue_readings
from portal.charts.queue_reasons import DOCUMENTATION
from portal.pages.queue.projects import project_queues

LISTED_MAX = 50
"""Running and pending jobs that are listed one by one; the sums are of all."""

QUEUES_MAX = 4
"""Of so many partitions the starts are read, those of the first lines: each has up to 3,000 of them."""


@signed_in_page
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


def with_waits(lines: Sequence[Line], user_pk: int, now: datetime) -> list[Line]:
    """The lines, those that wait for nothing but their turn with the typical wait of jobs like them."""
    histories: dict[str, WaitHistory] = {}
    asked: set[tuple[str, str]] = set()
    made: dict[tuple[object, ...], WaitEstimate | None] = {}
    found = []
    for line in lines:
        job = line.job
        queue = job.cluster, job.partition
        if line.is_in_turn and job.node_count and job.gpus is not None and (queue in asked or len(asked) < QUEUES_MAX):
            asked.add(queue)
            history = histories.setdefault(job.cluster, WaitHistory(job.cluster, now))
            # The person's own starts say more about their own jobs, and are nobody else's business.
            user = user_pk if line.is_own else None
            request = (*queue, job.node_count, job.gpus, job.time_limit_s, job.project_id)
            if (*request, user) not in made:
                made[*request, user] = wait_estimate(*request, now, user=user, history=history)
            line = replace(line, wait=made[*request, user])
        found.append(line)
    return found
