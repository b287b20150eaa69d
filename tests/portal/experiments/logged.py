"""Runs as scripts log them, through the services that their calls go through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Point
from jobs.experiments.rules import NameTaken
from jobs.experiments.services.experiments import make_experiment
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, change_run, start_run
from jobs.experiments.status import Reported
from jobs.models import User

BEGAN_AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
"""When the job of `tests.payloads` starts; it takes two hours."""

MINUTES, STEPS = 10, 100
LOSSES = tuple(1.0 - 0.05 * place for place in range(12))
"""One each ten minutes: 1.0 at step 0 down to 0.45 at step 1,100, ten minutes before the job ends."""


def experiment_of(name: str, title: str = "vit", *, project: str = "", is_shared: bool = False) -> Experiment:
    """The experiment of this title; a new one is seen by this project."""
    owner = User.objects.get(username=name)
    try:
        return make_experiment(owner, title, BEGAN_AT, project=project, is_shared=is_shared)
    except NameTaken:
        return Experiment.objects.get(owner=owner, name=title)


def log_run(
    experiment: Experiment,
    name: str = "first",
    *,
    job: int | None = 123456,
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    metrics: Mapping[str, Sequence[float]] | None = None,
    began_at: datetime = BEGAN_AT,
    reported: Reported | None = Reported.FINISHED,
    parent: str = "",
) -> ExperimentRun:
    """A run with one point of each metric every ten minutes; finished ten minutes after its last one, unless `reported`
    is None."""
    owner = experiment.owner
    change = RunChange(name=name, params=params or {}, tags=tags or {})
    run = start_run(
        owner, experiment.pk, began_at, change=change, job=StatedJob(job, "lumi") if job else None, parent=parent
    )
    metrics = {"loss": LOSSES} if metrics is None else metrics
    ended_at = began_at
    for metric, values in metrics.items():
        points = [
            Point(metric, STEPS * place, int((began_at + timedelta(minutes=MINUTES * place)).timestamp() * 1000), value)
            for place, value in enumerate(values)
        ]
        ended_at = max(ended_at, began_at + timedelta(minutes=MINUTES * len(values)))
        log_calls([LoggedCall(owner, run.run_id, began_at + timedelta(minutes=MINUTES * len(values)), points)])
    if reported is not None:
        change_run(owner, run.run_id, RunChange(reported=reported, ended_at=ended_at), ended_at)
    settle_all()
    return ExperimentRun.objects.get(pk=run.pk)


def settle_all() -> None:
    """What a worker does within seconds."""
    now = timezone.now()
    sort_points(1000, now)
    follow_runs(1000, now)
