"""Works that somebody runs day after day: a pipeline of three, and one that leaves most of its GPUs unused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from demo.generate import SampleJob, make_job
from demo.library import LIBRARY
from demo.people import Person
from demo.records import instant, one_script

FIRST_JOB_ID = 17_500_000
BEGINS_HOUR = 1
WAITED = timedelta(minutes=6)
RELEASED = timedelta(seconds=2)
"""Slurm releases a job that waits for another one so soon after this one's end."""


@dataclass(frozen=True)
class DailyStep:
    """One work of a pipeline: its jobs' name, what they are like and how long they take."""

    name: str
    kind: str
    elapsed_min: int
    walltime_min: int


PIPELINE = (
    DailyStep("climate_prepare", "small_single_gpu", 25, 60),
    DailyStep("climate_train", "efficient_part_node", 190, 300),
    DailyStep("climate_evaluate", "small_light_gpu", 35, 60),
)
PIPELINE_DAYS = 15

UNUSED_WORK = DailyStep("diffusion_sweep", "single_process", 300, 480)
UNUSED_DAYS = range(25, 0, -3)
"""How many days ago its jobs ended: five of them within any two weeks, and long enough that support sees the flag."""


def pipeline_runs(person: Person, *, seed: int, until: datetime) -> Iterator[SampleJob]:
    """Each night of `PIPELINE_DAYS` the works of `PIPELINE`, each as soon as the one before it has ended."""
    for day in range(PIPELINE_DAYS, 0, -1):
        night = (until - timedelta(days=day)).replace(hour=BEGINS_HOUR, minute=0, second=0, microsecond=0)
        submitted_at = eligible_at = night
        for place, step in enumerate(PIPELINE):
            number = (PIPELINE_DAYS - day) * len(PIPELINE) + place
            ended_at = eligible_at + WAITED + timedelta(minutes=step.elapsed_min)
            yield _run(step, person, FIRST_JOB_ID + number, ended_at, seed, submitted_at, eligible_at)
            eligible_at = ended_at + RELEASED


def unused_runs(person: Person, *, seed: int, until: datetime) -> Iterator[SampleJob]:
    """Runs of `UNUSED_WORK` in which one of the GPUs is used."""
    for number, days_ago in enumerate(UNUSED_DAYS, PIPELINE_DAYS * len(PIPELINE)):
        ended_at = (until - timedelta(days=days_ago)).replace(microsecond=0)
        queued_at = ended_at - timedelta(minutes=UNUSED_WORK.elapsed_min) - WAITED
        yield _run(UNUSED_WORK, person, FIRST_JOB_ID + number, ended_at, seed, queued_at, queued_at)


def _run(
    step: DailyStep,
    person: Person,
    job_id: int,
    ended_at: datetime,
    seed: int,
    submitted_at: datetime,
    eligible_at: datetime,
) -> SampleJob:
    times: dict[str, Any] = {
        "walltime_used_s": step.elapsed_min * 60,
        "walltime_requested_s": step.walltime_min * 60,
        "submitted_at": instant(submitted_at),
        "eligible_at": instant(eligible_at),
        "started_at": instant(ended_at - timedelta(minutes=step.elapsed_min)),
    }
    return make_job(
        step.kind,
        job_id=job_id,
        user=person.username,
        project=person.project,
        ended_at=ended_at,
        rng=np.random.default_rng((seed, job_id)),
        job_name=step.name,
        request=one_script(LIBRARY[step.kind], step.walltime_min * 60),
        **times,
    )
