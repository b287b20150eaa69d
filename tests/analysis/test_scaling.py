"""How a work scales, against cases worked by hand; and that the page and the advice of a report agree."""

from __future__ import annotations

import pytest

from analysis.comparable import ComparableRun, own_scaling
from analysis.scaling import scaling
from tests.analysis.works.cases import SCALING, ScalingCase, run


@pytest.mark.parametrize("case", SCALING, ids=lambda case: case.name)
def test_scaling_of_the_hand_worked_cases(case: ScalingCase) -> None:
    found = scaling(case.runs)
    percents = [None if c.efficiency_fraction is None else round(100 * c.efficiency_fraction, 1) for c in found.counts]
    counts = [(c.gpus, c.runs, c.typical_s) for c in found.counts]
    assert [(*count, percent) for count, percent in zip(counts, percents, strict=True)] == list(case.counts)
    assert (found.knee.gpus if found.knee else None) == case.knee
    assert (found.unfinished, found.too_short, found.on_other_hardware) == case.left_out
    assert found.is_noisy is case.is_noisy
    assert (found.too_fast.gpus if found.too_fast else None) == case.too_fast


@pytest.mark.parametrize("case", [c for c in SCALING if c.advised or c.knee], ids=lambda case: case.name)
def test_the_advice_of_a_report_takes_the_knee_or_has_a_reason_of_its_own(case: ScalingCase) -> None:
    """Whichever of the runs is the one that is reported."""
    latest = max(r.ended_at for r in case.runs)
    same_nodes = [r for r in case.runs if r.is_comparable and (r.partition != "lumid" or r.ended_at == latest)]
    for number, one in enumerate(same_nodes):
        others = [ComparableRun(r.gpus, r.elapsed_s) for r in same_nodes[:number] + same_nodes[number + 1 :]]
        assert own_scaling(ComparableRun(one.gpus, one.elapsed_s), others).gpus == (case.advised or case.knee)


def test_the_spread_the_use_and_the_bill_of_a_number_stand_beside_its_median() -> None:
    (count,) = scaling(
        [
            run(8, 1000, gpu_hours=1.0, avg_gpu_util=80.0),
            run(8, 1200, gpu_hours=1.5),
            run(8, 4000, gpu_hours=4.0, avg_gpu_util=60.0),
        ]
    ).counts
    assert (count.fastest_s, count.typical_s, count.slowest_s) == (1000, 1200, 4000)
    assert (count.gpu_hours, count.avg_gpu_util) == (1.5, 70.0)
    (unmeasured,) = scaling([run(8, 1000)]).counts
    assert (unmeasured.gpu_hours, unmeasured.avg_gpu_util) == (None, None)


@pytest.mark.parametrize("case", [c for c in SCALING if c.too_fast], ids=lambda case: case.name)
def test_runs_that_did_different_work_advise_nothing(case: ScalingCase) -> None:
    """They neither name a number of GPUs, nor deny what this run alone shows."""
    for number, one in enumerate(case.runs):
        others = [ComparableRun(r.gpus, r.elapsed_s) for r in case.runs[:number] + case.runs[number + 1 :]]
        assert own_scaling(ComparableRun(one.gpus, one.elapsed_s), others) is None


def test_one_and_a_half_times_the_speed_per_gpu_is_still_the_same_work() -> None:
    # 1 x 9000 / (2 x 3000) = 1.5; with 2999 s it is 1.5005.
    found = own_scaling(ComparableRun(2, 3000.0), [ComparableRun(1, 9000.0)])
    assert (found.gpus, found.run_s) == (2, 3000.0)
    assert own_scaling(ComparableRun(2, 2999.0), [ComparableRun(1, 9000.0)]) is None
