"""What silence costs, and how many words people get."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from cases.early.cost import UNTIL, Silence, course_of_sample
from cases.early.library import own_situations
from cases.early.pairs import Pair, situation_pairs
from demo.generate import make_job


def idle_pairs() -> list[Pair]:
    return list(situation_pairs(one for one in own_situations() if one.name == "cpu_phase_after_gpu_work"))


def test_gpu_hours_are_left_until_a_word_reaches_them() -> None:
    silence = Silence()
    for pair in idle_pairs():
        silence.count(pair, ["all_gpus_idle"] if pair.cut.at_s > 7000 else [])
    # Two GPUs without work until 21,600 s: at 4200 s 2 x 17,400 s are left, at 7800 s 2 x 13,800 s.
    assert silence.left == {4200.0: pytest.approx(9.6667, abs=0.001), 7800.0: pytest.approx(7.6667, abs=0.001)}
    assert silence.reached == {7800.0: pytest.approx(7.6667, abs=0.001)}


def test_a_sample_job_becomes_a_run_over_time() -> None:
    rng = np.random.default_rng(3)
    made = make_job("no_gpu_use", job_id=7, user="alice", project="project_1", ended_at=UNTIL, rng=rng)
    course = course_of_sample(made)
    assert course is not None
    assert course.limit_s == made.record["walltime_requested_s"]
    assert course.started_at + timedelta(seconds=course.elapsed_s) == UNTIL
    host = course.hosts[0]
    assert host is not None
    assert float(host.busy_cores[0]) == made.summaries[0]["cpu"]["busy_cores_avg"]
