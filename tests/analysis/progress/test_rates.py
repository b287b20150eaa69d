"""Steps and samples per second of logged runs, with numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.progress.cost import Direction, reached, usual_direction
from analysis.progress.names import Unit, batch_of, counted_unit, is_by_timer, rate_unit, seen_unit
from analysis.progress.rates import Stretch, rates_of
from tests.analysis.progress.runs import series

HOUR_MS = 3_600_000


def test_pauses_and_the_start_up_are_left_out_of_the_steady_rate_and_counted_in_the_overall_one() -> None:
    # Logged every 100 steps, 20 s each: 5 steps/s. The first 100 took 60 s, and one evaluation 200 s more.
    seconds = [60, 120, *range(140, 240, 20), *range(440, 640, 20)]
    steps = [100 * (at + 1) for at in range(len(seconds))]
    found = rates_of({"loss": series(steps, seconds)}, {}, Stretch(0, 620_000, gpus=8, gpu_hours_an_hour=4.0))
    assert found is not None
    assert found.counter == "loss"
    assert found.start_up_s == 60
    assert found.steps.steady_per_s == pytest.approx(5.0)
    # 17 points: 1,600 steps from 60 s to 620 s.
    assert found.steps.overall_per_s == pytest.approx(1600 / 560)
    assert found.steps.per_gpu_s == pytest.approx(5 / 8)
    # 4 GPU-hours an hour are 4/3600 a second: 1,000 steps at 1600/560 a second take 350 s.
    assert found.steps.gpu_hours_per_1000 == pytest.approx(350 * 4 / 3600)
    assert found.samples is None


def test_a_run_without_steps_has_no_rates() -> None:
    assert rates_of({}, {}, Stretch(0, HOUR_MS)) is None
    once = {"loss": series([0, 0, 0], [10, 20, 30]), "system/gpu_0_power": series([1, 2, 3], [10, 20, 30])}
    assert rates_of(once, {}, Stretch(0, HOUR_MS)) is None


def test_a_few_points_show_the_whole_alone() -> None:
    found = rates_of({"loss": series([0, 10, 20], [0, 100, 300])}, {}, Stretch(0, 300_000, gpus=2))
    assert found is not None
    assert found.steps.steady_per_s is None
    assert found.steps.per_s == pytest.approx(20 / 300)
    assert found.steps.per_gpu_hour is None


def test_points_logged_together_show_no_rate_of_their_own() -> None:
    # Each epoch's 100 points arrive within half a second, ten minutes apart.
    seconds = [600 * epoch + at / 200 for epoch in range(1, 6) for at in range(100)]
    found = rates_of({"loss": series(range(500), seconds)}, {}, Stretch(0, HOUR_MS))
    assert found is not None
    assert found.steps.per_s == pytest.approx(100 / 600, rel=0.01)


def test_a_resumed_run_has_the_rate_of_the_job_that_is_asked_for() -> None:
    # Job one: 1 step/s until 100 s; job two from 10,000 s: 4 steps/s.
    steps, seconds = [*range(0, 101, 10), *range(110, 211, 10)], [*range(0, 101, 10), *np.arange(10_000, 10_026, 2.5)]
    loss = {"loss": series(steps, seconds)}
    first = rates_of(loss, {}, Stretch(0, 100_000))
    second = rates_of(loss, {}, Stretch(9_990_000, 10_030_000))
    assert first is not None
    assert second is not None
    assert first.steps.steady_per_s == pytest.approx(1.0)
    assert second.steps.steady_per_s == pytest.approx(4.0)


def test_a_named_counter_is_read_by_its_values_even_when_a_timer_logs_it() -> None:
    logged = {
        "heartbeat": series(range(60), range(0, 600, 10)),
        "global_step": series(range(60), range(0, 600, 10), [20.0 * at for at in range(60)]),
    }
    found = rates_of(logged, {}, Stretch(0, 600_000))
    assert found is not None
    assert (found.counter, found.last_count) == ("global_step", 1180)
    assert found.steps.steady_per_s == pytest.approx(2.0)


def test_steps_that_are_epochs_are_said_to_be_epochs() -> None:
    logged = {
        "train_loss": series(range(5), range(0, 500, 100)),
        "epoch": series(range(5), range(0, 500, 100), range(5)),
    }
    found = rates_of(logged, {"global_batch_size": "64"}, Stretch(0, 500_000))
    assert found is not None
    assert found.steps.unit is Unit.EPOCHS
    assert found.samples is None


def test_samples_follow_from_what_counts_them_then_from_a_stated_rate_then_from_the_batch() -> None:
    loss = series(range(0, 110, 10), range(0, 110, 10))
    params = {"global_batch_size": "32"}
    stretch = Stretch(0, 100_000, gpus=4)
    rate = series(range(0, 110, 10), range(0, 110, 10), [25.0] * 11)
    seen = series(range(0, 110, 10), range(0, 110, 10), [300.0 * at for at in range(11)])
    for more, per_s, name in (
        ({}, 32.0, ""),
        ({"samples_per_sec_per_gpu": rate}, 100.0, "samples_per_sec_per_gpu"),
        ({"samples_per_sec": rate, "consumed_samples": seen}, 30.0, "consumed_samples"),
    ):
        found = rates_of({"loss": loss, **more}, params, stretch)
        assert found is not None
        assert found.samples is not None
        assert (found.samples.per_s, found.samples_from) == (pytest.approx(per_s), name)


@pytest.mark.parametrize(
    ("params", "gpus", "size", "is_global"),
    [
        ({"train_batch_size": "16"}, 1, 16, True),
        ({"batch_size": "16"}, 4, 16, False),
        ({"total_batch_size": "256", "batch_size": "16"}, 4, 256, True),
        ({"per_device_train_batch_size": "8", "per_device_eval_batch_size": "64"}, 16, 128, True),
        ({"micro_batch_size": "2", "gradient_accumulation_steps": "4"}, 8, 64, True),
    ],
)
def test_the_batch_of_a_step_is_known_where_the_parameters_state_it(
    params: dict[str, str], gpus: int, size: int, is_global: bool
) -> None:
    found = batch_of(params, gpus)
    assert found is not None
    assert (found.size, found.is_global) == (size, is_global)


@pytest.mark.parametrize("text", ["0", "-4", "1e3", "auto", "", "９", "9" * 40])
def test_a_batch_that_is_no_whole_number_is_not_known(text: str) -> None:
    assert batch_of({"global_batch_size": text}, 1) is None


def test_names_are_read_by_their_words() -> None:
    assert is_by_timer("system/cpu_utilization_percentage")
    assert not is_by_timer("train/loss")
    assert counted_unit("iteration") is Unit.STEPS
    assert counted_unit("epoch") is Unit.EPOCHS
    assert counted_unit("val_step_loss") is None
    assert rate_unit("tokens/sec") is Unit.TOKENS
    assert rate_unit("tokens_per_batch") is None
    assert seen_unit("eval_samples_seen") is None


def test_the_cost_of_a_value_is_the_time_within_the_jobs_alone() -> None:
    # One hour in a first job, two days in the queue, then another; 0.5 is reached 30 minutes into the second.
    day_ms = 24 * HOUR_MS
    jobs = [Stretch(0, HOUR_MS, 8, 4.0), Stretch(2 * day_ms, 2 * day_ms + HOUR_MS, 8, 4.0)]
    accuracy = series([1, 2, 3, 4], [600, 3600, 172_800 + 1800, 172_800 + 3600], [0.1, 0.4, 0.5, 0.7])
    found = reached(accuracy, 0.5, Direction.HIGHER, jobs)
    assert found is not None
    assert (found.step, found.run_s, found.gpu_hours) == (3, 5400, 6.0)
    assert reached(accuracy, 0.8, Direction.HIGHER, jobs) is None
    without_price = reached(accuracy, 0.5, Direction.HIGHER, [jobs[0], Stretch(2 * day_ms, 2 * day_ms + HOUR_MS)])
    assert without_price is not None
    assert (without_price.run_s, without_price.gpu_hours) == (5400, None)


def test_nan_and_infinity_reach_nothing() -> None:
    loss = series([1, 2, 3], [10, 20, 30], [np.nan, -np.inf, 0.2])
    found = reached(loss, 0.5, Direction.LOWER, [])
    assert found is not None
    assert (found.step, found.gpu_hours) == (3, None)


def test_the_direction_is_known_from_words_that_have_one() -> None:
    assert usual_direction("val/perplexity") is Direction.LOWER
    assert usual_direction("test_f1") is Direction.HIGHER
    assert usual_direction("accuracy_loss") is None
