"""Steps of a work to half of its GPUs, with hand-computed changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analysis.practices.halving import SizedRun, halvings

FIRST = datetime(2026, 9, 1, tzinfo=UTC)


def runs(*sizes: tuple[int, float], hardware: str = "g") -> list[SizedRun]:
    """Runs day by day: (GPUs, seconds), billed half a GPU-hour for each GPU and hour."""
    return [
        SizedRun(gpus, run_s, gpus * run_s / 7200, FIRST + timedelta(days=day), hardware)
        for day, (gpus, run_s) in enumerate(sizes)
    ]


def test_the_medians_before_and_after_are_compared_and_the_second_run_dates_the_step() -> None:
    # Median of 1000 and 1020 is 1010; of 1060 1080 1100 it is 1080: 1.0693. Hours: half the GPUs, so half of that.
    (step,) = halvings(runs((8, 1000), (8, 1020), (4, 1060), (4, 1100), (4, 1080)))
    assert (step.gpus, step.at) == (8, FIRST + timedelta(days=3))
    assert (step.run_time_fraction, step.gpu_hours_fraction) == pytest.approx((1080 / 1010, 540 / 1010))


def test_each_step_down_counts() -> None:
    steps = halvings(runs((8, 1000), (4, 1060), (4, 1060), (2, 1500), (2, 1500)))
    assert [step.gpus for step in steps] == [8, 4]


@pytest.mark.parametrize(
    "sizes",
    [
        [(8, 1000), (4, 1060)],  # one run on half of them may have had another input
        [(4, 1060), (4, 1060), (8, 1000)],  # upwards
        [(8, 1000), (2, 3000), (2, 3000)],  # a quarter
        [(8, 1000), (4, 3100), (4, 3100)],  # more than 1.5 times as slow per GPU as no speed-up explains: other work
        [(8, 1000), (4, 600), (4, 600)],  # half of the GPUs at 0.6 of the time: other work
        [(8, 1000), (8, 2100), (4, 1060), (4, 1060)],  # runs on 8 differ by more than a factor of two
        [(7, 1000), (3, 1060), (3, 1060)],  # not half
    ],
)
def test_what_says_nothing_is_no_step(sizes: list[tuple[int, float]]) -> None:
    assert halvings(runs(*sizes)) == []


def test_runs_on_other_hardware_are_not_compared() -> None:
    assert halvings([*runs((8, 1000)), *runs((2, 1), (4, 1060), (4, 1060), hardware="other")]) == []
