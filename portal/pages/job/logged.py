"""The runs that scripts logged in a job, for those who see their experiments."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from jobs.experiments.models import ExperimentRun
from jobs.experiments.selectors import runs_of_job, visible_experiments
from jobs.models import Job, User
from portal.charts.logged_runs import RunStatus, run_label, seconds_of, status_of

LISTED = 20


@dataclass(frozen=True)
class LoggedRun:
    """One run as a line of the job's page."""

    run: ExperimentRun
    label: str
    status: RunStatus
    seconds: float


@dataclass(frozen=True)
class LoggedRuns:
    """The first runs of a job, and whether there are more."""

    rows: tuple[LoggedRun, ...]
    has_more: bool


def logged_runs(job: Job, user: User) -> LoggedRuns:
    """The runs in the order of their beginnings: one query."""
    seen = runs_of_job(job).filter(experiment__in=visible_experiments(user).values("pk")).select_related("experiment")
    now = timezone.now()
    found = list(seen.defer("params", "tags")[: LISTED + 1])
    rows = (LoggedRun(run, run_label(run), status_of(run), seconds_of(run, now)) for run in found[:LISTED])
    return LoggedRuns(tuple(rows), len(found) > LISTED)
