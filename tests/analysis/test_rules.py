"""Each root cause: a run where it holds, one where it does not, and what it says in numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.causes.unexplained import low_use_unexplained
from analysis.facts import JobFacts
from analysis.findings import COUNTED, RIGHT_AT_THRESHOLD, RIGHT_FAR_PAST_IT, FindingCode, confidence
from analysis.ranking import expected_gain
from analysis.rules import OF_THE_END, OF_THE_SYSTEM, OF_USE, findings
from tests.analysis.runs import codes, facts, found, of_nodes, rate
from tests.payloads import gpu, node_payload

QUIET_HOST = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 8, "idle_fraction": 0.92}


def small(gpu_id: int, avg_util: float, **changes: Any) -> dict[str, Any]:
    """A GPU with 8 of 64 GB in use: an eighth."""
    return gpu(gpu_id, avg_util, **{"peak_mem_gb": 8.0} | changes)


def test_there_is_one_rule_for_each_code() -> None:
    rules = (*OF_USE, *OF_THE_SYSTEM, *OF_THE_END, low_use_unexplained)
    assert sorted(rule.__name__ for rule in rules) == sorted(code.value for code in FindingCode)


def test_an_efficient_job_has_no_finding() -> None:
    assert findings(facts([92.0] * 8, cpu=QUIET_HOST)) == ()


def test_all_gpus_idle_is_no_gpu_use_and_nothing_else_about_gpus() -> None:
    assert codes(facts([0.0] * 8)) == {FindingCode.NO_GPU_USE}


@pytest.mark.parametrize(("idle_s", "holds"), [(6840.0, True), (6839.0, False)])
def test_a_gpu_is_idle_from_95_percent_of_its_time(idle_s: float, holds: bool) -> None:
    # 0.95 x 7200 s = 6840 s.
    resting = gpu(0, 0.0, idle_s=idle_s, active_s=7200.0 - idle_s)
    assert (found(facts([], gpus=[resting]), FindingCode.NO_GPU_USE) is not None) == holds


HOST_AT_THRESHOLD = {"cores_allocated": 56, "ranks": 8, "threads_per_rank": 14.0}


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("cpu_bottleneck", facts([20.0] * 8, cpu=HOST_AT_THRESHOLD | {"busy_cores_avg": 42.0})),
        ("host_oversubscription", facts([60.0], cpu=HOST_AT_THRESHOLD | {"pressure_cpu_s": 720.0})),
        ("busy_but_waiting", facts([], gpus=[gpu(0, 70.0, power_avg_w=100.0), gpu(1, 70.0)])),
        ("load_imbalance", facts([62.5, 62.5, 32.5, 32.5])),
        (
            "io_or_sync_stall",
            facts(
                [],
                gpus=[
                    gpu(0, 53.0, timeline={"step_s": 60.0, "util": [80.0] * 40 + [40.0] * 80, "mem_gb": [8.0] * 120})
                ],
                cpu={"pressure_io_s": 720.0},
            ),
        ),
    ],
)
def test_on_its_threshold_an_inference_states_the_least_rate_of_being_right(code: str, known: JobFacts) -> None:
    assert found(known, FindingCode(code)).confidence == pytest.approx(rate(0.0))


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("no_gpu_use", facts([], gpus=[gpu(0, 0.0, idle_s=6840.0, active_s=360.0)])),
        ("throttled", facts([], gpus=[gpu(0, 90.0, throttled_s=360.0)])),
        ("gpu_memory_pressure", facts([], gpus=[gpu(0, 90.0, peak_mem_gb=60.8)])),
        ("late_start", facts([], gpus=[gpu(0, 72.0, timeline={"step_s": 60.0, "util": [0.0] * 24 + [90.0] * 96})])),
        ("idle_tail", facts([], gpus=[gpu(0, 72.0, timeline={"step_s": 60.0, "util": [90.0] * 96 + [0.0] * 24})])),
    ],
)
def test_what_was_counted_is_a_fact_on_its_threshold_too(code: str, known: JobFacts) -> None:
    finding = found(known, FindingCode(code))
    assert finding.is_fact
    assert finding.confidence == 1.0


def test_facts_are_what_is_counted_or_reported_by_slurm() -> None:
    inferred = {code.value for code in set(FindingCode) - COUNTED}
    assert inferred == {
        *("parallelism_mismatch", "load_imbalance", "overscaling", "cpu_bottleneck", "host_oversubscription"),
        *("io_or_sync_stall", "busy_but_waiting", "kernel_tuning", "gpu_out_of_memory", "low_use_unexplained"),
    }


def test_one_idle_gpu_shows_however_good_the_mean() -> None:
    finding = found(facts([95.0] * 7 + [0.0]), FindingCode.IDLE_GPUS)
    assert finding.evidence["idle_gpus"] == 1
    assert finding.evidence["gpu_list"] == "nid005123: 7"
    assert finding.confidence == pytest.approx(1.0)


def test_half_the_coverage_is_half_the_confidence_of_a_fact() -> None:
    whole = found(facts([0.0] * 4), FindingCode.NO_GPU_USE)
    half = found(facts([0.0] * 4, gpus_allocated=8), FindingCode.NO_GPU_USE)
    assert (whole.confidence, half.confidence) == (1.0, 0.5)


def test_confidence_grows_with_every_margin_and_stays_between_its_two_rates() -> None:
    # The geometric mean of 0.5 and 0.25 is 0.353553; half of it is seen.
    assert confidence(1.0, 0.5, 0.25) == pytest.approx(rate(0.353553), abs=1e-6)
    assert confidence(0.5, 0.5, 0.25) == pytest.approx(rate(0.353553) / 2, abs=1e-6)
    assert confidence(1.0, 0.5, 0.0) == pytest.approx(RIGHT_AT_THRESHOLD)
    assert confidence(2.0, 9.0) == pytest.approx(RIGHT_FAR_PAST_IT)
    assert confidence(-1.0, 0.5) == 0.0


@pytest.mark.parametrize(("busy_cores", "holds"), [(42.0, True), (41.9, False)])
def test_a_busy_host_starves_gpus_from_three_quarters_of_its_cores(busy_cores: float, holds: bool) -> None:
    # 0.75 x 56 cores = 42.
    known = facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": busy_cores, "ranks": 8})
    assert (found(known, FindingCode.CPU_BOTTLENECK) is not None) == holds


CPU, UNEXPLAINED = FindingCode.CPU_BOTTLENECK, FindingCode.LOW_USE_UNEXPLAINED


def test_a_cpu_bottleneck_in_numbers() -> None:
    # 49 of 56 cores: (0.875 - 0.75) / 0.25 = 0.5; use 35: (70 - 35) / 70 = 0.5.
    finding = found(facts([35.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 49.0}), CPU)
    assert dict(finding.evidence) == {
        "gpu_util_percent": 35.0,
        "cores_allocated": 56,
        "busy_cores": 49.0,
        "busy_fraction": 0.875,
    }
    assert finding.confidence == pytest.approx(rate(0.5))


@pytest.mark.parametrize(("util", "holds"), [(69.9, True), (70.0, False)])
def test_gpus_that_are_fed_well_have_no_cpu_bottleneck(util: float, holds: bool) -> None:
    known = facts([util] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 56.0})
    assert (found(known, CPU) is not None) == holds


def test_cores_that_nodes_did_not_count_are_those_of_slurm() -> None:
    # 56 cores on one node: 42 of them busy are three quarters.
    assert found(facts([20.0] * 8, cpu={"busy_cores_avg": 42.0}), CPU) is not None
    assert found(facts([20.0] * 8, cpu={"busy_cores_avg": 41.0}), CPU) is None


def test_a_cpu_bottleneck_needs_a_gpu_that_worked() -> None:
    known = facts([0.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 56.0})
    assert codes(known) == {FindingCode.NO_GPU_USE}


def test_one_busy_core_a_rank_is_a_number_to_look_at_and_no_cause() -> None:
    known = facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 8.0, "ranks": 8})
    assert codes(known) == {UNEXPLAINED}
    assert found(known, UNEXPLAINED).evidence["busy_cores_per_rank"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("busy_cores", "shown"), [(16.9, False), (17.0, True), (23.0, True), (23.1, False)], ids=lambda value: str(value)
)
def test_the_band_around_one_core_a_rank(busy_cores: float, shown: bool) -> None:
    # Twenty ranks: 0.85 x 20 = 17 and 1.15 x 20 = 23.
    known = facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": busy_cores, "ranks": 20})
    assert ("busy_cores_per_rank" in found(known, UNEXPLAINED).evidence) == shown


@pytest.mark.parametrize(
    ("busy", "per_rank"),
    [((8.0, 8.0), 1.0), ((8.0, 7.2), 0.95), ((8.0, 4.0), None), ((8.0, 16.0), None), ((8.0, None), None)],
)
def test_one_core_a_rank_is_shown_only_where_every_node_shows_it(busy: tuple, per_rank: float | None) -> None:
    names = ("nid005123", "nid005124")
    nodes = [
        node_payload([20.0] * 8, node=name, cpu={"cores_allocated": 56, "busy_cores_avg": cores, "ranks": 8})
        for name, cores in zip(names, busy, strict=True)
    ]
    shown = found(of_nodes(*nodes), UNEXPLAINED).evidence.get("busy_cores_per_rank")
    assert shown == (None if per_rank is None else pytest.approx(per_rank))


def test_a_host_that_was_not_measured_is_not_blamed() -> None:
    assert found(facts([20.0] * 8, cpu={}), CPU) is None


def test_evenly_low_use_with_little_memory_is_overscaling() -> None:
    # Margins: (40 - 20) / 40 = 0.5 and (0.25 - 0.125) / 0.25 = 0.5; mean 0.5.
    finding = found(facts([], gpus=[small(index, 20.0) for index in range(8)], cpu=QUIET_HOST), OVER)
    assert finding.confidence == pytest.approx(rate(0.5))
    assert finding.evidence["peak_memory_fraction"] == pytest.approx(0.125)


OVER = FindingCode.OVERSCALING


@pytest.mark.parametrize(
    "gpus",
    [
        [small(index, 40.0) for index in range(8)],
        [*(small(index, 20.0) for index in range(7)), gpu(7, 20.0, peak_mem_gb=16.0)],
        [small(0, 20.0)],
        [small(0, 38.0), small(1, 5.0)],
        [*(small(index, 20.0) for index in range(7)), small(7, 0.0)],
        [small(0, 20.0), small(1, 20.0, peak_mem_gb=None)],
    ],
    ids=["use 40", "a quarter of memory", "one GPU", "uneven", "one idle", "memory not measured"],
)
def test_overscaling_needs_low_even_use_and_known_small_memory(gpus: list[dict]) -> None:
    assert found(facts([], gpus=gpus, cpu=QUIET_HOST), OVER) is None


@pytest.mark.parametrize(
    ("util", "peak_gb", "busy_cores", "holds"),
    [
        (60.0, 6.0, 27.9, True),
        (60.0, 6.0, 28.0, False),
        (60.0, 6.4, 4.0, False),
        (69.9, 6.3, 4.0, True),
        (70.0, 6.0, 4.0, False),
        (39.9, 15.9, 30.0, True),
    ],
    ids=["quiet host", "half of the cores busy", "a tenth of memory", "just below", "efficient", "low use"],
)
def test_with_next_to_no_memory_and_a_quiet_host_higher_use_would_fit_on_fewer(
    util: float, peak_gb: float, busy_cores: float, holds: bool
) -> None:
    # A quiet host has less than half of 56 cores busy; a tenth of 64 GB is 6.4, a quarter 16.
    gpus = [small(index, util, peak_mem_gb=peak_gb) for index in range(8)]
    known = facts([], gpus=gpus, cpu={"cores_allocated": 56, "busy_cores_avg": busy_cores, "ranks": 8})
    assert (found(known, OVER) is not None) == holds


def test_the_wider_bounds_of_overscaling_decide_its_confidence_too() -> None:
    # (70 - 60) / 70 = 0.142857; 6 / 64 = 0.09375: (0.1 - 0.09375) / 0.1 = 0.0625. Root of the product 0.094491.
    known = facts([], gpus=[small(index, 60.0, peak_mem_gb=6.0) for index in range(8)], cpu=QUIET_HOST)
    assert found(known, OVER).confidence == pytest.approx(rate(0.094491), abs=1e-6)


def test_a_busy_host_explains_low_even_use_and_overscaling_is_not_said_beside_it() -> None:
    busy = {"cores_allocated": 56, "busy_cores_avg": 50.0, "ranks": 8}
    assert codes(facts([], gpus=[small(index, 20.0) for index in range(8)], cpu=busy)) == {CPU}


@given(st.lists(st.floats(0, 100), min_size=1, max_size=16), st.floats(0, 56), st.integers(0, 56))
def test_confidences_are_shares_and_what_saves_most_comes_first(utils: list[float], busy: float, ranks: int) -> None:
    cpu = {"cores_allocated": 56, "busy_cores_avg": busy, "ranks": ranks}
    held = findings(facts(utils, cpu=cpu))
    assert all(0 <= finding.confidence <= 1 for finding in held)
    gains = [expected_gain(finding) for finding in held]
    assert gains == sorted(gains, reverse=True)
