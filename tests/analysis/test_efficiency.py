"""The verdict: quantities, classes at their boundaries, coverage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.efficiency import EfficiencyClass, classify, efficiency
from analysis.facts import job_facts
from tests.analysis.runs import facts, metrics_of
from tests.payloads import gpu, job_record, node_payload


@pytest.mark.parametrize(
    ("avg_gpu_util", "expected"),
    [
        (100.0, "EFFICIENT"),
        (70.0, "EFFICIENT"),
        (69.999999, "ACCEPTABLE"),
        (40.0, "ACCEPTABLE"),
        (39.999999, "INEFFICIENT"),
        (15.0, "INEFFICIENT"),
        (14.999999, "WASTED"),
        (0.0, "WASTED"),
        (None, "UNKNOWN"),
    ],
)
def test_a_class_starts_exactly_at_its_threshold(avg_gpu_util: float | None, expected: str) -> None:
    assert classify(avg_gpu_util) == expected


def test_two_busy_gpus_of_eight_give_hand_computed_quantities() -> None:
    # Mean (2 x 88 + 6 x 0) / 8 = 22.0. Bill: 56 cores = 7 slices, 480 GB = 7.5 -> 8, 8 GPUs: 8 x 0.5 x 2 h = 8.0.
    # Waste 8 x (1 - 0.22) = 6.24; six of eight idle throughout: 8 x 0.75 = 6.0.
    judged = efficiency(facts([88.0, 88.0, 0, 0, 0, 0, 0, 0]))
    assert judged.efficiency_class is EfficiencyClass.INEFFICIENT
    assert judged.avg_gpu_util == pytest.approx(22.0)
    assert (judged.effective_gpus, judged.effective_gpus_fraction) == (2, 0.25)
    assert judged.gpu_hours == pytest.approx(8.0)
    assert judged.wasted_gpu_hours == pytest.approx(6.24)
    assert judged.idle_gpu_hours == pytest.approx(6.0)
    assert judged.coverage_fraction == pytest.approx(1.0)
    assert (judged.peak_gpu_mem_gb, judged.peak_gpu_mem_fraction) == (40.0, 0.625)


@pytest.mark.parametrize(("util", "effective"), [(30.0, 1), (30.001, 2)])
def test_a_gpu_is_effective_above_30_percent_and_not_at_it(util: float, effective: int) -> None:
    judged = efficiency(facts([90.0, util]))
    assert (judged.effective_gpus, judged.effective_gpus_fraction) == (effective, effective / 2)


def test_a_gpu_measured_for_less_time_weighs_less() -> None:
    # (90 x 7200 + 30 x 6600) / 13800 = 61.304…; a plain mean would say 60.
    short = gpu(1, 30.0, measured_s=6600.0, samples=6600, active_s=6600.0, util_histogram_s={"30": 6600.0})
    judged = efficiency(facts([], gpus=[gpu(0, 90.0), short]))
    assert judged.avg_gpu_util == pytest.approx(61.3043478)


def test_rounding_takes_no_mean_beyond_its_values() -> None:
    # 171798692.0291434 x 100 / 171798692.0291434 is 100.00000000000001.
    odd = gpu(0, 100.0, measured_s=171798692.0291434, samples=None, util_histogram_s=None, idle_s=None, active_s=None)
    judged = efficiency(facts([], gpus=[odd]))
    assert (judged.avg_gpu_util, judged.wasted_gpu_hours) == (100.0, 0.0)


def test_no_measurement_is_unknown_and_never_wasted() -> None:
    judged = efficiency(job_facts(job_record(), metrics_of()))
    assert judged.efficiency_class is EfficiencyClass.UNKNOWN
    assert judged.avg_gpu_util is None
    assert judged.wasted_gpu_hours is None
    assert judged.gpu_hours == pytest.approx(8.0)
    assert not judged.is_partial


def test_a_gpu_whose_use_was_unreadable_is_named_and_not_counted_as_zero() -> None:
    silent = gpu(1, None, missing={"avg_util": "permission denied"})
    judged = efficiency(facts([], gpus=[gpu(0, 80.0), silent]))
    assert judged.avg_gpu_util == pytest.approx(80.0)
    assert (judged.measured_gpus, judged.allocated_gpus) == (1, 2)
    assert judged.coverage_fraction == pytest.approx(0.5)
    assert judged.is_partial


def test_half_of_the_nodes_silent_makes_the_report_partial() -> None:
    # 8 of 16 GPUs were measured through the run: coverage 0.5, below 0.8.
    record = job_record(nodes=["nid005123", "nid005124"], node_count=2, gpus_allocated=16, gpus_requested=16)
    known = job_facts(record, metrics_of(node_payload()))
    judged = efficiency(known)
    assert judged.coverage_fraction == pytest.approx(0.5)
    assert judged.is_partial
    assert "GPU use: no summary from 1 of 2 nodes" in known.not_measured


def test_coverage_of_exactly_four_fifths_is_not_partial() -> None:
    part = {"measured_s": 5760.0, "active_s": 5760.0, "samples": 5760, "util_histogram_s": {"90": 5760.0}}
    assert not efficiency(facts([], gpus=[gpu(0, 90.0, **part)])).is_partial


def test_an_inconsistent_gpu_is_named_and_left_out_of_the_mean() -> None:
    odd = gpu(2, 10.0, mem_total_gb=32.0, peak_mem_gb=10.0)
    known = facts([], gpus=[gpu(0, 90.0), gpu(1, 90.0), odd])
    assert known.avg_gpu_util == pytest.approx(90.0)
    assert "GPU 2 on nid005123: capacity differs from its peers, left out of the mean" in known.not_measured


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"walltime_used_s": 299}, "short"),
        ({"walltime_used_s": 300}, ""),
        ({"state": "NODE_FAIL"}, "system_failure"),
        ({"state": "PREEMPTED"}, "system_failure"),
        ({"state": "REQUEUED"}, "system_failure"),
        ({"state": "NODE_FAIL", "walltime_used_s": 60}, "system_failure"),
        ({"state": "FAILED"}, ""),
    ],
)
def test_short_runs_and_system_failures_are_never_held_against_anyone(changes: dict, expected: str) -> None:
    assert efficiency(facts([50.0] * 8, **changes)).uncounted_reason == expected


def test_hardware_that_is_not_described_has_no_bill() -> None:
    judged = efficiency(facts([50.0] * 8, partition="lumid"))
    assert judged.efficiency_class is EfficiencyClass.ACCEPTABLE
    assert judged.gpu_hours is None
    assert judged.wasted_gpu_hours is None


@given(st.lists(st.floats(0, 100), min_size=1, max_size=16))
def test_the_mean_lies_between_its_gpus_and_waste_within_the_bill(utils: list[float]) -> None:
    judged = efficiency(facts(utils))
    assert min(utils) - 1e-9 <= judged.avg_gpu_util <= max(utils) + 1e-9
    assert -1e-9 <= judged.wasted_gpu_hours <= judged.gpu_hours + 1e-9
