"""What is said of training runs, over situations whose author had not read the rules."""

from __future__ import annotations

import math

import pytest

from analysis.scaling import scaling
from cases.progress.library import ScalingGroup, scaling_groups, situations
from tests.analysis.progress.judging import KINDS, tallies
from tests.analysis.works.cases import run

LIMIT = 0.95

AT_THE_LIMIT = {"all_ended_at_the_limit", "steps_equal_and_batch_unknown"}
"""Groups whose story says that the time limit ended their runs."""


@pytest.fixture(scope="module")
def found():
    return tallies(situations())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_is_right_and_what_is_right_is_said(found, kind: str) -> None:
    tally = found[kind]
    assert tally.precision >= LIMIT, tally.off
    assert tally.recall >= LIMIT, tally.off


def runs_of(group: ScalingGroup):
    """The runs of a group as a page counts with them; steps are throughput only with a known batch."""
    state = "TIMEOUT" if group.name in AT_THE_LIMIT else "COMPLETED"
    for number, (gpus, elapsed_s, samples, steps, batch) in enumerate(group.runs, start=1):
        per_s = samples if samples is not None else steps * batch if steps and batch else None
        unit = "" if per_s is None else "samples"
        yield run(gpus, elapsed_s, state, number=number, throughput_unit=unit, throughput_per_s=per_s)


@pytest.mark.parametrize("group", tuple(scaling_groups()), ids=lambda group: group.name)
def test_throughput_shows_how_a_work_scales_where_it_is_known(group: ScalingGroup) -> None:
    scaled = scaling(list(runs_of(group)))
    if group.measured is not None:
        assert (scaled.unit == "samples") == group.measured
    if group.knee_gpus is not None:
        assert scaled.knee is not None
        assert scaled.knee.gpus == group.knee_gpus


def test_runs_that_their_limit_ended_count_with_their_throughput_and_without_their_run_time() -> None:
    whole = run(2, 4000, number=1, throughput_unit="tokens", throughput_per_s=100.0)
    cut = run(4, 3600, "TIMEOUT", number=2, throughput_unit="tokens", throughput_per_s=160.0)
    scaled = scaling([whole, cut])
    # 100 / 2 = 50 and 160 / 4 = 40 tokens a second and GPU.
    assert [(count.gpus, count.per_s, count.efficiency_fraction) for count in scaled.counts] == [
        (2, 100.0, 1.0),
        (4, 160.0, pytest.approx(0.8)),
    ]
    assert (scaled.knee.gpus, scaled.unit, scaled.unfinished) == (4, "tokens", 0)


def test_throughput_of_failed_or_short_runs_or_of_another_unit_is_not_compared() -> None:
    whole = run(2, 4000, number=1, throughput_unit="tokens", throughput_per_s=100.0)
    others = [
        run(4, 3600, "FAILED", number=2, throughput_unit="tokens", throughput_per_s=160.0),
        run(8, 299, "TIMEOUT", number=3, throughput_unit="tokens", throughput_per_s=300.0),
        run(4, 3600, "TIMEOUT", number=4, throughput_unit="images", throughput_per_s=3.0),
        run(4, 3600, "TIMEOUT", number=5, throughput_unit="tokens", throughput_per_s=math.nan),
    ]
    assert scaling([whole, *others]).unit == ""
