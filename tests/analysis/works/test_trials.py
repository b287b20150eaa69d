"""Trials (`kaiku trial`): compared with each other, never with whole runs, and of the same work."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.scaling import knee_run, scaling
from analysis.works.best_request import best_request
from analysis.works.failures import failures
from analysis.works.patterns import patterns
from analysis.works.runs import PastRun
from jobs.work_key import is_trial, normalised_name
from tests.analysis.works.cases import run


def trial(gpus: int, elapsed_s: float, state: str = "COMPLETED", **more: Any) -> PastRun:
    return run(gpus, elapsed_s, state, job_name=f"train-kaiku-trial-{gpus}", **more)


@pytest.mark.parametrize(
    "name", ["train", "train_v2", "Llama-7b finetune", "resnet50", "md_prod007", "訓練", "train_2026-11-20", "gpt2"]
)
@pytest.mark.parametrize("gpus", [1, 2, 16, 1024])
def test_a_trial_is_the_work_that_it_tries(name: str, gpus: int) -> None:
    assert normalised_name(f"{name}-kaiku-trial-{gpus}") == normalised_name(name)
    assert is_trial(f"{name}-kaiku-trial-{gpus}")
    assert not is_trial(name)


WHOLE = (run(8, 36_000, number=1, gpu_hours=80.0), run(8, 37_000, number=2, gpu_hours=82.0))
TRIED = (trial(1, 580, number=3), trial(2, 300, number=4), trial(4, 190, number=5), trial(8, 170, number=6))


def test_trials_give_the_curve_beside_whole_runs() -> None:
    found = scaling([*WHOLE, *TRIED])
    # 580 / (2 x 300) = 0.967; 580 / (4 x 190) = 0.763; 580 / (8 x 170) = 0.426
    assert [round(100 * (count.efficiency_fraction or 0), 1) for count in found.counts] == [100.0, 96.7, 76.3, 42.6]
    assert [found.knee] == [count for count in found.counts if count.gpus == 4]
    assert (found.is_trials, found.trials_beside) == (True, 0)
    follows = knee_run([*WHOLE, *TRIED], found)
    assert follows is TRIED[2]


def test_on_one_number_of_gpus_they_claim_nothing_and_do_not_disturb_whole_runs() -> None:
    runs = [*WHOLE, trial(8, 200), trial(8, 210)]
    found = scaling(runs)
    assert [(count.gpus, count.runs, count.typical_s) for count in found.counts] == [(8, 2, 36_500)]
    assert (found.is_trials, found.trials_beside, found.knee) == (False, 2, None)
    assert knee_run(runs, found) is None


def test_trials_of_different_work_leave_the_curve_to_whole_runs() -> None:
    # 900 / (2 x 200) = 2.25 times the speed per GPU
    found = scaling([run(2, 4000), run(4, 2000), trial(1, 900), trial(2, 200)])
    assert (found.is_trials, found.knee and found.knee.gpus) == (False, 4)


def test_from_a_minute_on_a_trial_counts() -> None:
    found = scaling([trial(1, 480), trial(8, 60), trial(4, 59)])
    assert [count.gpus for count in found.counts] == [1, 8]
    assert found.too_short == 1


def test_trials_that_reached_their_limit_show_use_and_no_run_time() -> None:
    runs = [
        trial(1, 600, "TIMEOUT", avg_gpu_util=92.0),
        trial(8, 601, "TIMEOUT", avg_gpu_util=30.0),
        trial(8, 602, "TIMEOUT", avg_gpu_util=40.0),
        trial(4, 603, "TIMEOUT"),
    ]
    found = scaling(runs)
    assert found.counts == ()
    assert found.cut_trials == ((1, 1, 92.0), (4, 1, None), (8, 2, 35.0))
    assert failures(runs).failed == 0


def test_neither_the_best_request_nor_the_typical_run_is_a_trial() -> None:
    cheap = trial(1, 580, number=9, gpu_hours=0.1)
    best = best_request([*WHOLE, cheap])
    assert best is not None
    assert best.run.gpus == 8
    spreads = {found.name: found for found in patterns([*WHOLE, cheap]).spreads}
    assert spreads["run_time"].median == 36_500
