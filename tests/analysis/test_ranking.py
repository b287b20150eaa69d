"""What fixing each cause would win back, by hand, and the order of causes that follows from it."""

from __future__ import annotations

import pytest

from analysis.findings import Finding, FindingCode
from analysis.ranking import LOST, expected_gain, lost_fraction
from analysis.rules import findings
from tests.analysis.runs import facts
from tests.payloads import gpu

CASES = {
    "no_gpu_use": ({"idle_fraction": 0.97}, 0.97),
    "parallelism_mismatch": ({"gpus": 8, "active_gpus": 2}, 0.75),
    # Half of the GPUs, idle for 0.96 of the time.
    "idle_gpus": ({"idle_gpus": 4, "gpus": 8, "idle_fraction": 0.96}, 0.48),
    "exclusive_node_underused": ({"gpus": 8, "active_gpus": 3}, 0.625),
    # All could do what the fullest does: 1 - 60 / 80.
    "load_imbalance": ({"mean_util_percent": 60.0, "highest_util_percent": 80.0}, 0.25),
    # 1 - 21 / 70.
    "overscaling": ({"avg_util_percent": 21.0}, 0.7),
    "cpu_bottleneck": ({"gpu_util_percent": 28.0}, 0.6),
    "host_oversubscription": ({"cpu_pressure_fraction": 0.4}, 0.4),
    "io_or_sync_stall": ({"lost_fraction": 0.3}, 0.3),
    "late_start": ({"idle_fraction": 0.35}, 0.35),
    "idle_tail": ({"idle_fraction": 0.25}, 0.25),
    "busy_but_waiting": ({"power_fraction": 0.2}, 0.8),
    "loss_is_nan": ({"nan_fraction": 0.75}, 0.75),
    # A fifth of the time at 20 instead of 80: 0.2 x (1 - 20 / 80).
    "step_pauses": ({"paused_fraction": 0.2, "paused_percent": 20.0, "working_percent": 80.0}, 0.15),
    # 1 - 68 / 85.
    "kernel_tuning": ({"busy_percent": 68.0}, 0.2),
    "throttled": ({"throttled_fraction": 0.1}, 0.1),
    "gpu_memory_pressure": ({}, 0.0),
    "gpu_out_of_memory": ({}, 1.0),
    "host_out_of_memory": ({}, 1.0),
    "cores_or_memory_beyond_share": ({"billed_slices": 8.0, "needed_slices": 2.0}, 0.75),
    "timeout": ({}, 0.5),
    "walltime_overrequest": ({}, 0.0),
    # 1 - 35 / 70.
    "low_use_unexplained": ({"avg_util_percent": 35.0, "pattern": "low_use"}, 0.5),
}


@pytest.mark.parametrize("code", FindingCode)
def test_the_share_that_a_cause_took(code: FindingCode) -> None:
    evidence, lost = CASES[code]
    assert lost_fraction(code, evidence) == pytest.approx(lost)
    assert expected_gain(Finding(code, 0.5, evidence)) == pytest.approx(lost / 2)


def test_every_cause_has_its_share() -> None:
    assert set(LOST) == set(FindingCode) == {FindingCode(name) for name in CASES}


def test_use_above_the_target_took_nothing_and_no_share_is_above_all() -> None:
    assert lost_fraction(FindingCode.OVERSCALING, {"avg_util_percent": 95.0}) == 0.0
    assert lost_fraction(FindingCode.NO_GPU_USE, {"idle_fraction": 1.2}) == 1.0


def test_a_failure_whose_use_was_not_measured_ranks_last() -> None:
    assert lost_fraction(FindingCode.LOW_USE_UNEXPLAINED, {"pattern": "failed"}) == 0.0


def test_a_run_that_ran_out_of_memory_has_that_before_anything_that_costs_less() -> None:
    # Memory: 1.0 x 1.0. Three of eight idle: 3/8. No limit to look at: 0.
    known = facts([60.0] * 5 + [0.0] * 3, state="OUT_OF_MEMORY")
    assert [finding.code for finding in findings(known)][:2] == ["host_out_of_memory", "idle_gpus"]


def test_the_cause_that_would_win_back_most_comes_first() -> None:
    # Six of eight idle: 0.75, a fact; mismatch 0.75 x 0.945; the limit 0.5.
    known = facts([88.0] * 2 + [0.0] * 6, state="TIMEOUT")
    assert [finding.code for finding in findings(known)] == ["idle_gpus", "parallelism_mismatch", "timeout"]
    # One of eight idle: 0.125, behind a quarter of the time throttled and half of it after the limit.
    slow = [gpu(i, 90.0 if i else 0.0, throttled_s=1800.0) for i in range(8)]
    assert [finding.code for finding in findings(facts([], gpus=slow, state="TIMEOUT"))] == [
        "timeout",
        "throttled",
        "idle_gpus",
    ]
