"""Sample experiments of one person: what training scripts would have logged in jobs that are there.

Written through the services that scripts' calls go through, at the times of the jobs; every number is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, nan

import numpy as np

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Point
from jobs.experiments.services.artifacts import StatedFile, keep_upload, state_files
from jobs.experiments.services.experiments import make_experiment
from jobs.experiments.services.following import follow_run, follow_runs
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, change_run, start_run
from jobs.experiments.status import Reported
from jobs.models import Job, User

START_UP_S = 45.0
"""Seconds from the start of a job until its script logs the first step."""

POINTS, EVALUATIONS = 240, 12
POINTS_TOGETHER = 1000
SECONDS_MIN, JOBS_MAX = 1200, 200
BATCH_OF_GPU = 32
LOSS_FIRST, LOSS_LAST = 6.9, 1.7


@dataclass(frozen=True)
class Story:
    """How one run went: its learning rate, and whether its loss becomes NaN."""

    name: str
    rate: float
    turns_nan: bool = False


VISION: tuple[Story, ...] = (
    Story("vit-s-lr1e-4", 1e-4),
    Story("vit-s-lr3e-4", 3e-4),
    Story("vit-s-lr1e-3", 1e-3),
    Story("vit-s-lr1e-2", 1e-2, turns_nan=True),
    Story("vit-s-warmup", 3e-4),
)
LANGUAGE: tuple[Story, ...] = (Story("gpt-small-long", 6e-4), Story("gpt-small", 6e-4), Story("gpt-small-local", 6e-4))
EXPERIMENTS = (("ImageNet, ViT-S", VISION), ("Language model", LANGUAGE))
REPORT_AFTER = timedelta(minutes=10)


def sample_experiments(users: Sequence[User], *, seed: int, until: datetime) -> int:
    """An experiment for each person who has suitable jobs, the first without a project; how many runs are linked.

    The first person's runs are on different numbers of GPUs where there are such jobs; the others share theirs with
    their project.
    """
    dice = np.random.default_rng(seed)
    linked = 0
    for place, user in enumerate(users):
        ended = Job.objects.filter(
            user=user, gpus_allocated__gt=0, walltime_used_s__gte=SECONDS_MIN, ended_at__lt=until
        )
        jobs = list(ended.exclude(started_at=None).order_by("-ended_at", "-pk")[:JOBS_MAX])
        name, stories = EXPERIMENTS[place]
        chosen = _chosen(jobs, len(stories) if place == 0 else len(stories) - 1)
        if not chosen:
            continue
        first_at = min(job.started_at for job in chosen if job.started_at)
        project = chosen[0].project.name if place else ""
        experiment = make_experiment(user, name, first_at, project=project, is_shared=bool(project))
        for story, job in zip(stories, chosen, strict=False):
            _in_job(user, experiment, story, job, dice)
            linked += 1
        if place:
            _log_without_job(user, experiment, stories[-1], until, dice)
    sort_points(JOBS_MAX, until)
    follow_runs(JOBS_MAX, until)
    return linked


def _chosen(jobs: Sequence[Job], count: int) -> list[Job]:
    """Of the latest jobs one that its time limit ended, and then completed ones, each number of GPUs once first."""
    killed = [job for job in jobs if job.state == "TIMEOUT"][:1]
    completed = [job for job in jobs if job.state == "COMPLETED"]
    firsts = list({job.gpus_allocated: job for job in reversed(completed)}.values())
    others = [job for job in completed if job not in firsts]
    return [*killed, *firsts, *others][:count]


def _in_job(user: User, experiment: Experiment, story: Story, job: Job, dice: np.random.Generator) -> None:
    began_at, gpus = job.started_at, job.gpus_allocated or 1
    if began_at is None or job.ended_at is None:
        raise ValueError(f"job {job} has no times")
    seconds = (job.ended_at - began_at).total_seconds()
    params = {"lr": f"{story.rate:g}", "global_batch_size": f"{BATCH_OF_GPU * gpus}", "optimizer": "adamw"}
    change = RunChange(name=story.name, params=params, tags={"team": "vision"}, seed="1")
    run = start_run(
        user,
        experiment.pk,
        began_at + timedelta(seconds=10),
        change=change,
        job=StatedJob(job.job_id, job.cluster),
    )
    # Half again as fast on twice the GPUs: no program scales perfectly.
    steps_per_s = float(2.0 * gpus**-0.4 * dice.uniform(0.95, 1.05))
    last_s = seconds - (5.0 if job.state == "TIMEOUT" else 60.0)
    _log_points(user, run, began_at, last_s, steps_per_s, story, dice)
    if job.state != "TIMEOUT":
        ended_at = began_at + timedelta(seconds=seconds - 30)
        path = f"/scratch/{job.project.name}/runs/{run.run_id[:8]}/last.pt"
        steps = int((last_s - START_UP_S) * steps_per_s)
        state_files(user, run.run_id, [StatedFile(path, "checkpoint", steps, 88_400_000)], ended_at)
        keep_upload(user, run.run_id, "config.json", b'{"model": "small", "patch": 16}\n', 32, ended_at)
        change_run(user, run.run_id, RunChange(reported=Reported.FINISHED, ended_at=ended_at), ended_at)
    follow_run(run.pk, job.ended_at + REPORT_AFTER)


def _log_without_job(
    user: User, experiment: Experiment, story: Story, until: datetime, dice: np.random.Generator
) -> None:
    """A run on somebody's own machine that stopped reporting yesterday."""
    began_at = until - timedelta(days=1, hours=2)
    run = start_run(user, experiment.pk, began_at, change=RunChange(name=story.name, params={"lr": f"{story.rate:g}"}))
    _log_points(user, run, began_at, 3000.0, 0.8, story, dice)


def _log_points(
    user: User,
    run: ExperimentRun,
    began_at: datetime,
    last_s: float,
    steps_per_s: float,
    story: Story,
    dice: np.random.Generator,
) -> None:
    """Loss and accuracy over the time of the run, as its script would have sent them."""
    seconds = np.linspace(START_UP_S, last_s, POINTS)
    points = [
        point
        for place, at_s in enumerate(seconds.tolist())
        for point in _logged_at(place, at_s, at_s - START_UP_S, began_at, steps_per_s, story, dice)
    ]
    for first in range(0, len(points), POINTS_TOGETHER):
        part = points[first : first + POINTS_TOGETHER]
        received_at = began_at + timedelta(milliseconds=part[-1].time_ms - _ms(began_at))
        log_calls([LoggedCall(user, run.run_id, received_at, part)])


def _logged_at(
    place: int,
    at_s: float,
    trained_s: float,
    began_at: datetime,
    steps_per_s: float,
    story: Story,
    dice: np.random.Generator,
) -> Iterable[Point]:
    done = place / POINTS
    speed = {True: 3.0, False: 4.5}[story.rate < 3e-4]
    loss = LOSS_LAST + (LOSS_FIRST - LOSS_LAST) * exp(-speed * done) + dice.normal(0, 0.05)
    is_nan = story.turns_nan and done > 0.35
    step, time_ms = int(trained_s * steps_per_s), _ms(began_at) + int(at_s * 1000)
    yield Point("train/loss", step, time_ms, nan if is_nan else float(loss))
    if place % (POINTS // EVALUATIONS) == POINTS // EVALUATIONS - 1:
        accuracy = 0.001 if is_nan else 0.78 * (1 - exp(-speed * done)) + dice.normal(0, 0.004)
        yield Point("val/accuracy", step, time_ms, float(accuracy))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
