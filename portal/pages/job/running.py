"""The page of a job that still runs: what was measured so far, what to look at, and what it costs until its limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from jobs.models import Job
from jobs.selectors import Reach, jobs_within, reach_of
from portal.access import person
from portal.charts.running import RunningJob, running_job
from reports.numbers import percent, to_the_minute, unbroken

GRID_PERCENT = (100, 50, 0)


@dataclass(frozen=True)
class Course:
    """The picture of the use so far, in words: for people who do not see it, and below it for everyone."""

    text: str
    grid: tuple[int, ...] = GRID_PERCENT


def asked_running_job(request: HttpRequest, cluster: str, job_id: int) -> RunningJob | None:
    """The running job at this address; None where nothing runs there, or where an attempt that ended is asked for."""
    found = running_job(reach_of(person(request)), cluster, job_id, timezone.now())
    asked = request.GET.get("attempt", "")
    if found is None or (asked and (found.run is None or asked != str(found.run.attempt))):
        return None
    return found


def running_page(request: HttpRequest, found: RunningJob) -> HttpResponse:
    """One screen of it; it loads itself again each minute while somebody looks."""
    context = {
        "running": found,
        "job": found.job,
        "figures": found.figures,
        "course": course_of(found),
        "attempts": _earlier_attempts(reach_of(person(request)), found.job.cluster, found.job.job_id),
        "is_owner": found.line.is_own,
    }
    return render(request, "portal/job/running.html", context)


def runs_again(request: HttpRequest, run: Job, now: datetime) -> bool:
    """Whether a later attempt of this run is running."""
    return running_job(reach_of(person(request)), run.cluster, run.job_id, now) is not None


def course_of(found: RunningJob) -> Course | None:
    """What the line of use shows, None where nothing was measured of it.

    Its parts are equally long; the last one may not be over.
    """
    figures = found.figures
    known = [point for point in figures.use if point is not None] if figures else []
    if figures is None or not known:
        return None
    parts = f"in parts of {to_the_minute(figures.step_s)}" if figures.step_s else "over time"
    gaps = len(figures.use) - len(known)
    missing = f"; {gaps} of {len(figures.use)} parts were not measured" if gaps else ""
    span = f"between {percent(min(known))} and {percent(max(known))}, {percent(known[-1])} at the end"
    return Course(unbroken(f"Mean use of all GPUs {parts}: {span}{missing}."))


def _earlier_attempts(reach: Reach, cluster: str, job_id: int) -> list[Job]:
    return list(jobs_within(reach).filter(cluster=cluster, job_id=job_id).order_by("attempt"))
