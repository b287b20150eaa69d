"""The page of a job that still runs: what was measured so far, what to look at, and what it costs until its limit.

One that has just left the queue has its last figures here until Slurm's record of it arrives.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.early.figures import RunningFigures
from analysis.early.models import RunningRun
from analysis.early.selectors import visible_left
from jobs.models import Job
from jobs.selectors import Reach, jobs_within, reach_of
from portal.access import person
from portal.charts.running import RunningJob, figures_of, running_job
from reports.numbers import to_the_minute, unbroken
from wire.numbers import percent

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
    earlier = jobs_within(reach_of(person(request))).filter(cluster=found.job.cluster, job_id=found.job.job_id)
    context = {
        "running": found,
        "job": found.job,
        "figures": found.figures,
        "course": course_of(found.figures),
        "attempts": list(earlier.order_by("attempt")),
        "is_owner": found.line.is_own,
    }
    return render(request, "portal/job/running.html", context)


def asked_left_job(request: HttpRequest, cluster: str, job_id: int) -> LeftJob | None:
    """The job at this address that left the queue and has no record of its end yet; None where there is none."""
    found = left_job(reach_of(person(request)), cluster, job_id, timezone.now())
    is_other = found is not None and request.GET.get("attempt", "") not in ("", str(found.run.attempt))
    return None if is_other else found


def left_page(request: HttpRequest, found: LeftJob) -> HttpResponse:
    """What was known of it last; it loads itself again until the report is there."""
    context = {"left": found, "run": found.run, "figures": found.figures, "course": course_of(found.figures)}
    return render(request, "portal/job/left.html", context)


def runs_again(request: HttpRequest, run: Job, now: datetime) -> bool:
    """Whether a later attempt of this run is running."""
    return running_job(reach_of(person(request)), run.cluster, run.job_id, now) is not None


def course_of(figures: RunningFigures | None) -> Course | None:
    """What the line of use shows, None where nothing was measured of it.

    Its parts are equally long; the last one may not be over.
    """
    known = [point for point in figures.use if point is not None] if figures else []
    if figures is None or not known:
        return None
    parts = f"in parts of {to_the_minute(figures.step_s)}" if figures.step_s else "over time"
    gaps = len(figures.use) - len(known)
    missing = f"; {gaps} of {len(figures.use)} parts were not measured" if gaps else ""
    span = f"between {percent(min(known))} and {percent(max(known))}, {percent(known[-1])} at the end"
    return Course(unbroken(f"Mean use of all GPUs {parts}: {span}{missing}."))


@dataclass(frozen=True)
class LeftJob:
    """One of them; `left_at` is when the queue was first read without it. `figures` are None where none were made."""

    run: RunningRun
    left_at: datetime
    figures: RunningFigures | None
    is_own: bool

    @property
    def measured_until(self) -> datetime | None:
        return None if self.figures is None else self.run.started_at + timedelta(seconds=self.figures.until_s)

    @property
    def idle_since(self) -> datetime | None:
        """Since when no GPU did anything, until `measured_until`; None where one worked, or where it is not known."""
        since_s = self.figures.idle_since_s if self.figures else None
        return None if since_s is None else self.run.started_at + timedelta(seconds=since_s)


def left_job(reach: Reach, cluster: str, job_id: int, now: datetime) -> LeftJob | None:
    """A job that a person sees and that no longer runs, without a record of its end; one query where there is none."""
    run = visible_left(reach, cluster, job_id)
    if run is None:
        return None
    # The queue may have been read since the sweep looked.
    return LeftJob(run, run.left_at or now, figures_of(run), run.user_id == reach.user_id)
