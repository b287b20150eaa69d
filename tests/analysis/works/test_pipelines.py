"""Works that regularly follow one another are recognised, and works that only run at the same time are not."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from analysis.works.pipelines import StepRun, pipelines

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOUR_S = 3600.0


def step(pk: int, key: str, from_s: float, run_s: float, **more: object) -> StepRun:
    """A run that could start at `from_s` and ended `run_s` later."""
    at = NOW + timedelta(seconds=from_s)
    named = {"is_completed": True, "gpu_hours": 2.0, "wasted_gpu_hours": 0.5} | more
    return StepRun(pk, key, at, at + timedelta(seconds=run_s), **named)


def chain(count: int, *keys: str, gap_s: float = 0.0, every_s: float = 24 * HOUR_S, **more: object) -> list[StepRun]:
    """As many passes: each work takes an hour, and the next can start `gap_s` after its end."""
    return [
        step(10 * number + place, key, number * every_s + place * (HOUR_S + gap_s), HOUR_S, **more)
        for number in range(count)
        for place, key in enumerate(keys)
    ]


def keys_of(runs: list[StepRun]) -> list[tuple[str, ...]]:
    return [found.work_keys for found in pipelines(runs)]


def test_three_works_in_a_row_are_one_line_with_their_sum() -> None:
    (found,) = pipelines(chain(5, "prepare", "train", "evaluate"))
    assert found.work_keys == ("prepare", "train", "evaluate")
    # Five passes of three runs, 2 GPU-hours each with half of one unused; the last pass has keys 40 to 42.
    assert (found.passes, found.runs, found.gpu_hours, found.wasted_gpu_hours) == (5, 15, 30.0, 7.5)
    assert found.latest == (40, 41, 42)
    assert found.latest_at == NOW + timedelta(days=4, hours=3)


def test_four_passes_are_too_few() -> None:
    assert keys_of(chain(4, "train", "evaluate")) == []


@pytest.mark.parametrize(("gap_s", "is_found"), [(-5, True), (-6, False), (0, True), (600, True), (601, False)])
def test_the_next_run_can_start_within_ten_minutes_after_the_end(gap_s: float, *, is_found: bool) -> None:
    assert bool(keys_of(chain(6, "train", "evaluate", gap_s=gap_s))) is is_found


def test_four_of_five_are_regular_and_fewer_are_not() -> None:
    runs = chain(8, "train", "evaluate")
    alone = [step(900 + number, "evaluate", (number + 20) * 24 * HOUR_S, HOUR_S) for number in range(3)]
    # 8 of 10 evaluations follow a training, then 8 of 11.
    assert keys_of(runs + alone[:2]) == [("train", "evaluate")]
    assert keys_of(runs + alone) == []
    trained = [step(900 + number, "train", (number + 20) * 24 * HOUR_S, HOUR_S) for number in range(3)]
    assert keys_of(runs + trained) == []


def test_what_failed_need_not_have_been_followed() -> None:
    failed = [
        step(900 + number, "train", (number + 20) * 24 * HOUR_S, HOUR_S, is_completed=False) for number in range(9)
    ]
    assert keys_of(chain(6, "train", "evaluate") + failed) == [("train", "evaluate")]


def test_an_array_is_one_run_that_ends_with_its_last_task() -> None:
    tasks = [
        step(1000 + 10 * number + task, "sweep", number * 24 * HOUR_S, HOUR_S * (1 + task), array=("lumi", number))
        for number in range(6)
        for task in range(4)
    ]
    after = [step(2000 + number, "collect", number * 24 * HOUR_S + 4 * HOUR_S, 600) for number in range(6)]
    (found,) = pipelines(tasks + after)
    assert (found.work_keys, found.passes, found.runs) == (("sweep", "collect"), 6, 30)


def test_a_pipeline_every_hour_is_recognised_and_unnamed_runs_are_not_part_of_one() -> None:
    runs = chain(40, "ingest", "score", every_s=3 * HOUR_S, gap_s=30)
    assert keys_of(runs) == [("ingest", "score")]
    assert keys_of(chain(8, "train", "")) == []


def test_a_circle_is_broken_and_nothing_follows_itself() -> None:
    runs = [
        step(number, ("train", "evaluate")[number % 2], number * 5 * HOUR_S, 5 * HOUR_S - 60) for number in range(40)
    ]
    assert [set(found) for found in keys_of(runs)] == [{"train", "evaluate"}]
    assert keys_of([step(number, "restart", number * HOUR_S, HOUR_S) for number in range(40)]) == []


def test_works_that_begin_together_are_no_pipeline() -> None:
    """Submitted in pairs each morning: neither waits for the other."""
    runs = [
        step(10 * day + place, key, day * 24 * HOUR_S + place * 5, (2 + place) * HOUR_S)
        for day in range(30)
        for place, key in enumerate(("left", "right"))
    ]
    assert keys_of(runs) == []


@pytest.mark.parametrize("seed", range(40))
def test_random_histories_have_no_pipelines(seed: int) -> None:
    """Twelve works of one person over ninety days, submitted in working hours, rarely to very often."""
    dice = random.Random(seed)
    runs, pk = [], 0
    for work in range(12):
        run_s = dice.choice((300.0, 1800.0, HOUR_S, 6 * HOUR_S))
        for _ in range(dice.choice((5, 6, 8, 20, 80, 300))):
            pk += 1
            day, hour_s = dice.randrange(90), dice.uniform(8, 18) * HOUR_S
            runs.append(step(pk, f"work {work}", day * 24 * HOUR_S + hour_s, run_s * dice.uniform(0.7, 1.3)))
    assert keys_of(runs) == []


@pytest.mark.parametrize("seed", range(10))
def test_robots_that_run_all_the_time_have_no_pipelines(seed: int) -> None:
    """An end every few minutes lies before every start: that says nothing."""
    dice = random.Random(seed)
    runs = []
    for work in range(4):
        every_s = dice.choice((300.0, 420.0, 900.0, 1260.0))
        for number in range(400):
            from_s = number * every_s + dice.uniform(0, 60)
            runs.append(step(1000 * work + number, f"work {work}", from_s, every_s * dice.uniform(0.3, 0.9)))
    assert keys_of(runs) == []
