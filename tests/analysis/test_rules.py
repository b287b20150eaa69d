"""Each root cause: a run where it holds, one where it does not, and what it says in numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.causes.unexplained import low_use_unexplained
from analysis.facts import JobFacts, job_facts
from analysis.findings import COUNTED, Finding, FindingCode
from analysis.ranking import expected_gain
from analysis.rules import OF_THE_END, OF_THE_SYSTEM, OF_USE, findings
from tests.analysis.runs import facts, metrics_of
from tests.payloads import gpu, job_record

QUIET_HOST = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 8, "idle_fraction": 0.92}


def found(known: JobFacts, code: FindingCode) -> Finding | None:
    return next((finding for finding in findings(known) if finding.code is code), None)


def small(gpu_id: int, avg_util: float, **changes: Any) -> dict[str, Any]:
    """A GPU with 8 of 64 GB in use: an eighth."""
    return gpu(gpu_id, avg_util, **{"peak_mem_gb": 8.0} | changes)


def test_there_is_one_rule_for_each_code() -> None:
    rules = (*OF_USE, *OF_THE_SYSTEM, *OF_THE_END, low_use_unexplained)
    assert sorted(rule.__name__ for rule in rules) == sorted(code.value for code in FindingCode)


def test_an_efficient_job_has_no_finding() -> None:
    assert findings(facts([92.0] * 8, cpu=QUIET_HOST)) == ()


def test_all_gpus_idle_is_no_gpu_use_and_nothing_else_about_gpus() -> None:
    codes = {finding.code for finding in findings(facts([0.0] * 8))}
    assert codes == {FindingCode.NO_GPU_USE}


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
                gpus=[gpu(0, 53.0, timeline={"step_s": 60.0, "util": [80.0] * 40 + [40.0] * 80, "mem_gb": [8.0] * 120})],
                cpu={"pressure_io_s": 720.0},
            ),
        ),
    ],
)
def test_on_its_threshold_an_inference_states_the_least_rate_of_being_right(code: str, known: JobFacts) -> None:
    assert found(known, FindingCode(code)).confidence == pytest.approx(0.85)


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


def test_two_of_eight_active_is_a_parallelism_mismatch() -> None:
    # Margins: 1 - 2/5 = 0.6; (88 - 30) / 70 = 0.82857; (30 - 0) / 30 = 1. Their geometric mean is 0.79219, so
    # 0.5 + 0.5 x 0.79219 = 0.89609.
    finding = found(facts([88.0] * 2 + [0.0] * 6), FindingCode.PARALLELISM_MISMATCH)
    assert (finding.evidence["active_gpus"], finding.evidence["gpus"]) == (2, 8)
    assert finding.evidence["active_util_percent"] == pytest.approx(88.0)
    assert finding.confidence == pytest.approx(0.89609, abs=1e-5)


@pytest.mark.parametrize(("active", "holds"), [(0, False), (1, True), (4, True), (5, False), (8, False)])
def test_a_mismatch_needs_one_active_gpu_and_at_most_half(active: int, holds: bool) -> None:
    known = facts([60.0] * active + [5.0] * (8 - active))
    assert (found(known, FindingCode.PARALLELISM_MISMATCH) is not None) == holds


def test_even_use_around_the_threshold_is_no_mismatch() -> None:
    # Half of them are above 30, but all do the same: standard deviation 2 of a mean of 30.
    assert found(facts([32.0] * 4 + [28.0] * 4), FindingCode.PARALLELISM_MISMATCH) is None
    # 40 against 20: 10 / 30 = 0.33 of the mean, above 0.25.
    assert found(facts([40.0] * 4 + [20.0] * 4), FindingCode.PARALLELISM_MISMATCH) is not None


def test_exactly_30_percent_is_not_active() -> None:
    assert found(facts([30.0, 5.0]), FindingCode.PARALLELISM_MISMATCH) is None


def test_a_single_gpu_cannot_be_mismatched() -> None:
    assert found(facts([60.0]), FindingCode.PARALLELISM_MISMATCH) is None


@pytest.mark.parametrize(("busy_cores", "holds"), [(42.0, True), (41.9, False)])
def test_a_busy_host_starves_gpus_from_three_quarters_of_its_cores(busy_cores: float, holds: bool) -> None:
    # 0.75 x 56 cores = 42.
    known = facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": busy_cores, "ranks": 8})
    assert (found(known, FindingCode.CPU_BOTTLENECK) is not None) == holds


def test_every_rank_on_one_core_starves_gpus_too() -> None:
    finding = found(facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 8.0, "ranks": 8}), CPU)
    assert finding.evidence["pattern"] == "one_core_per_rank"
    # Exactly one core a rank is the full margin 1, (40 - 20) / 40 = 0.5; sqrt(0.5) = 0.70711.
    assert finding.confidence == pytest.approx(0.5 + 0.5 * 0.70711, abs=1e-5)


CPU = FindingCode.CPU_BOTTLENECK


@pytest.mark.parametrize(("per_rank", "holds"), [(0.84, False), (0.86, True), (1.14, True), (1.16, False)])
def test_the_band_around_one_core_a_rank(per_rank: float, holds: bool) -> None:
    known = facts([20.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 8 * per_rank, "ranks": 8})
    assert (found(known, CPU) is not None) == holds


def test_busy_gpus_have_no_cpu_bottleneck() -> None:
    assert found(facts([40.0] * 8, cpu={"cores_allocated": 56, "busy_cores_avg": 56.0}), CPU) is None


def test_a_host_that_was_not_measured_is_not_blamed() -> None:
    assert found(facts([20.0] * 8, cpu={}), CPU) is None


def test_evenly_low_use_with_little_memory_is_overscaling() -> None:
    # Margins: (40 - 20) / 40 = 0.5 and (0.25 - 0.125) / 0.25 = 0.5; mean 0.5, so 0.75.
    finding = found(facts([], gpus=[small(index, 20.0) for index in range(8)], cpu=QUIET_HOST), OVER)
    assert finding.confidence == pytest.approx(0.75)
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


def stalled(first: float, later: float) -> dict[str, Any]:
    """A GPU at `first` for 40 minutes, then at `later` for 80."""
    mean = (first + 2 * later) / 3
    timeline = {"step_s": 60.0, "util": [first] * 40 + [later] * 80, "mem_gb": [30.0] * 120}
    return gpu(0, mean, timeline=timeline)


STALL = FindingCode.IO_OR_SYNC_STALL


def test_use_that_falls_with_io_pressure_points_to_io() -> None:
    cpu = QUIET_HOST | {"iowait_fraction": 0.3, "pressure_io_s": 3600.0}
    finding = found(facts([], gpus=[stalled(80.0, 20.0)], cpu=cpu), STALL)
    assert finding.evidence["first_third_percent"] == pytest.approx(80.0)
    assert finding.evidence["later_percent"] == pytest.approx(20.0)
    assert finding.evidence["io_pressure_fraction"] == pytest.approx(0.5)
    assert finding.evidence["points_to"] == "io"
    # Margins (60 - 20) / 80 = 0.5, (0.75 - 0.5) / 0.5 = 0.5 and 1 for the pressure: 0.25 ** (1/3) = 0.62996.
    assert finding.confidence == pytest.approx(0.5 + 0.5 * 0.62996, abs=1e-5)


def test_the_same_fall_with_a_quiet_host_points_to_synchronisation_less_surely() -> None:
    cpu = QUIET_HOST | {"iowait_fraction": 0.0, "pressure_io_s": 0.0}
    finding = found(facts([], gpus=[stalled(80.0, 20.0)], cpu=cpu), STALL)
    assert finding.evidence["points_to"] == "synchronisation"
    assert finding.confidence == pytest.approx(0.75)


def test_without_host_numbers_the_cause_stays_open() -> None:
    assert found(facts([], gpus=[stalled(80.0, 20.0)], cpu={}), STALL).evidence["points_to"] == "unclear"


@pytest.mark.parametrize(
    ("first", "later", "holds"),
    [(80.0, 40.0, True), (80.0, 41.0, False), (38.0, 18.0, True), (38.0, 18.5, False), (80.0, 80.0, False)],
)
def test_a_stall_falls_by_20_points_and_by_half(first: float, later: float, holds: bool) -> None:
    assert (found(facts([], gpus=[stalled(first, later)]), STALL) is not None) == holds


def test_idle_time_before_the_work_is_not_part_of_the_active_span() -> None:
    timeline = {"step_s": 60.0, "util": [0.0] * 60 + [90.0] * 60, "mem_gb": [30.0] * 120}
    assert found(facts([], gpus=[gpu(0, 45.0, timeline=timeline)]), STALL) is None


def test_an_idle_neighbour_does_not_hide_a_stall() -> None:
    known = facts([], gpus=[stalled(80.0, 20.0), gpu(1, 0.0)])
    assert found(known, STALL).evidence["first_third_percent"] == pytest.approx(80.0)


def test_too_few_points_tell_no_phases() -> None:
    short = gpu(0, 40.0, timeline={"step_s": 1440.0, "util": [80, 20, 20, 20, 20], "mem_gb": [30.0] * 5})
    assert found(facts([], gpus=[short]), STALL) is None


def test_an_out_of_memory_state_or_a_kill_is_certain() -> None:
    by_state = found(facts([50.0], state="OUT_OF_MEMORY", cpu={}), FindingCode.HOST_OUT_OF_MEMORY)
    by_kill = found(facts([50.0], cpu={"oom_kills": 2, "peak_memory_gb": 59.0}), FindingCode.HOST_OUT_OF_MEMORY)
    assert (by_state.confidence, dict(by_state.evidence)) == (1.0, {})
    assert dict(by_kill.evidence) == {"oom_kills": 2, "peak_memory_gb": 59.0}
    assert found(facts([50.0], cpu={"oom_kills": 0}), FindingCode.HOST_OUT_OF_MEMORY) is None


def test_a_timeout_says_how_busy_the_end_was() -> None:
    finding = found(facts([88.0], state="TIMEOUT"), FindingCode.TIMEOUT)
    assert finding.evidence["final_util_percent"] == pytest.approx(88.0)
    assert finding.evidence["walltime_requested_s"] == 10800


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({"walltime_used_s": 7200, "walltime_requested_s": 12001}, True),
        ({"walltime_used_s": 7200, "walltime_requested_s": 12000}, False),
        ({"walltime_used_s": 900, "walltime_requested_s": 86400}, False),
        ({"walltime_used_s": 901, "walltime_requested_s": 86400}, True),
        ({"walltime_requested_s": 86400, "state": "FAILED"}, False),
        ({"walltime_requested_s": 86400, "job_name": "interactive"}, False),
        ({"walltime_requested_s": 86400, "job_name": "sys/dashboard/sys/jupyter"}, False),
        ({"walltime_requested_s": 86400, "job_name": "shallow_water"}, True),
        ({"walltime_requested_s": None}, False),
    ],
)
def test_walltime_is_overrequested_below_60_percent_after_15_minutes_of_batch_work(changes: dict, holds: bool) -> None:
    # 7200 / 12000 = 0.6 exactly.
    assert (found(facts([90.0] * 8, **changes), FindingCode.WALLTIME_OVERREQUEST) is not None) == holds


def test_slurm_knows_the_walltime_even_where_nothing_was_measured() -> None:
    known = job_facts(job_record(walltime_requested_s=72000), metrics_of())
    # (0.6 - 0.1) / 0.6 = 0.83333; 0.5 + 0.5 x 0.83333 = 0.91667: not scaled by the coverage of 0.
    assert [finding.code for finding in findings(known)] == [FindingCode.WALLTIME_OVERREQUEST]
    assert findings(known)[0].confidence == pytest.approx(0.91667, abs=1e-5)


def test_half_the_coverage_is_half_the_confidence() -> None:
    whole = found(facts([0.0] * 4), FindingCode.NO_GPU_USE)
    half = found(facts([0.0] * 4, gpus_allocated=8), FindingCode.NO_GPU_USE)
    assert half.confidence == pytest.approx(whole.confidence / 2)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=16), st.floats(0, 56), st.integers(0, 56))
def test_confidences_are_shares_and_what_saves_most_comes_first(utils: list[float], busy: float, ranks: int) -> None:
    cpu = {"cores_allocated": 56, "busy_cores_avg": busy, "ranks": ranks}
    held = findings(facts(utils, cpu=cpu))
    assert all(0 <= finding.confidence <= 1 for finding in held)
    gains = [expected_gain(finding) for finding in held]
    assert gains == sorted(gains, reverse=True)
