"""What people's scripts log in the tests of runs, and when."""

from __future__ import annotations

from datetime import UTC, datetime

from jobs.experiments.models import ExperimentRun
from jobs.experiments.points import Point
from jobs.experiments.services.experiments import (
    named_experiment,
)
from jobs.experiments.services.points import LoggedCall
from jobs.experiments.services.runs import RunChange, StatedJob, start_run
from jobs.models import User

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
BEGAN = datetime(2026, 11, 20, 11, 40, tzinfo=UTC)  # the job of the sample record runs from 10:00 to 12:00
MS = int(NOW.timestamp() * 1000)


def run_of(user: User, *, job: int | None = 123456, began: datetime = BEGAN, **change: object) -> ExperimentRun:
    experiment, _ = named_experiment(user, "vit", began)
    stated = StatedJob(job) if job else None
    return start_run(user, experiment.pk, began, change=RunChange(**change), started_at=began, job=stated)


def call(user: User, run: ExperimentRun, *values: float, name: str = "loss", at: datetime = NOW) -> LoggedCall:
    """Points a second apart from step 0 on."""
    points = [Point(name, step, MS + 1000 * step, value) for step, value in enumerate(values)]
    return LoggedCall(user, run.run_id, at, points)


# Experiments
