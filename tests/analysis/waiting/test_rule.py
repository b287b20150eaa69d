"""What waited while GPUs were idle: every history of `cases` gives the figures that were worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analysis.waiting.rule import IdleRun, Waiting, shown_count, waited
from tests.analysis.waiting.cases import CASES, Case

START = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)


def minute(at: float) -> datetime:
    return START + timedelta(minutes=at)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_history_gives_the_figures_worked_by_hand(case: Case) -> None:
    run = IdleRun(0, minute(0), minute(240), case.idle, 8, case.whole_nodes)
    jobs = [
        Waiting(person, gpus, nodes, case.exclusive, minute(since), minute(until))
        for person, gpus, nodes, since, until in case.jobs
    ]
    found = waited(run, jobs)
    idle_gpu_hours = sum(gpus * nodes for gpus, nodes in case.idle.items()) * 4
    assert found.wanted_fraction * idle_gpu_hours == pytest.approx(case.wanted_gpu_hours)
    assert (found.could_start, found.is_shown) == (case.could_start, case.is_shown)
    # The order in which the jobs are read changes nothing.
    assert waited(run, jobs[::-1]) == found


def test_a_run_without_length_or_idle_gpus_kept_nobody_waiting() -> None:
    job = Waiting(1, 1, 1, False, minute(-60), minute(300))
    for run in (
        IdleRun(0, minute(0), minute(0), {8: 1}, 8, False),
        IdleRun(0, minute(0), minute(240), {}, 8, False),
    ):
        found = waited(run, [job])
        assert (found.wanted_fraction, found.could_start) == (0.0, 0)


def test_counts_above_ten_are_shown_in_steps_that_are_rounded_down() -> None:
    counts = (1, 9, 10, 11, 14, 19, 20, 49, 50, 99, 1234)
    assert [shown_count(count) for count in counts] == [1, 9, 10, 10, 10, 10, 20, 40, 50, 90, 1000]
