"""Runs of one work on several numbers of GPUs: somebody who looks for the right one, with failures in between."""

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

FIRST_JOB_ID = 17_400_000
NAME = "cp2k_water_v{}"


@dataclass(frozen=True)
class Step:
    """One run: how many days ago it ended, what it was like, how long it took and what time it requested."""

    days_ago: float
    kind: str
    elapsed_min: int
    walltime_min: int = 480


STEPS = (
    Step(75, "overscaled", 131),
    Step(73, "overscaled", 127),
    Step(70, "overscaled", 140),
    Step(66, "failed", 38),
    Step(62, "acceptable", 163),
    Step(60, "acceptable", 158, 300),
    Step(55, "timeout_busy", 120, 120),
    Step(54, "acceptable", 171, 300),
    Step(48, "small_single_gpu", 506, 600),
    Step(41, "efficient_part_node", 252, 600),
    Step(38, "efficient_part_node", 247, 360),
    Step(30, "host_out_of_memory", 44, 360),
    Step(29, "efficient_part_node", 258, 360),
    Step(20, "efficient_part_node", 249, 360),
    Step(11, "acceptable", 160, 240),
    Step(3, "efficient_part_node", 251, 360),
)


def scaling_study(person: Person, *, seed: int, until: datetime) -> Iterator[SampleJob]:
    """The runs of `STEPS` before `until` (aware), the first one first; the same seed gives the same runs."""
    for number, step in enumerate(STEPS):
        ended_at = (until - timedelta(days=step.days_ago)).replace(microsecond=0)
        yield make_job(
            step.kind,
            job_id=FIRST_JOB_ID + number,
            user=person.username,
            project=person.project,
            ended_at=ended_at,
            rng=np.random.default_rng((seed, number)),
            job_name=NAME.format(number + 1),
            **_times(step, ended_at),
            request=one_script(LIBRARY[step.kind], step.walltime_min * 60),
        )


def _times(step: Step, ended_at: datetime) -> dict[str, Any]:
    started_at = ended_at - timedelta(minutes=step.elapsed_min)
    queued_at = instant(started_at - timedelta(minutes=12))
    return {
        "walltime_used_s": step.elapsed_min * 60,
        "walltime_requested_s": step.walltime_min * 60,
        "submitted_at": queued_at,
        "eligible_at": queued_at,
        "started_at": instant(started_at),
    }
