"""How a run ended: the time limit, memory of the host and of the GPUs, a failure, and runs that nothing explains."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.facts import JobFacts, job_facts
from analysis.findings import FindingCode
from analysis.rules import findings
from tests.analysis.runs import codes, facts, found, metrics_of, over_time, rate
from tests.payloads import gpu, job_record

TIMEOUT, UNEXPLAINED = FindingCode.TIMEOUT, FindingCode.LOW_USE_UNEXPLAINED
OUT, PRESSURE, HOST_OUT = (
    FindingCode.GPU_OUT_OF_MEMORY,
    FindingCode.GPU_MEMORY_PRESSURE,
    FindingCode.HOST_OUT_OF_MEMORY,
)
QUIET = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 8, "idle_fraction": 0.92}


def test_an_out_of_memory_state_or_a_kill_is_certain() -> None:
    by_state = found(facts([50.0], state="OUT_OF_MEMORY", cpu={}), HOST_OUT)
    by_kill = found(facts([50.0], cpu={"oom_kills": 2, "peak_memory_gb": 59.0}), HOST_OUT)
    assert (by_state.confidence, dict(by_state.evidence)) == (1.0, {})
    assert dict(by_kill.evidence) == {"oom_kills": 2, "peak_memory_gb": 59.0}
    assert found(facts([50.0], cpu={"oom_kills": 0}), HOST_OUT) is None


@pytest.mark.parametrize(
    ("end", "pattern"), [(88.0, "busy"), (30.0, "busy"), (29.9, "idle"), (0.0, "idle")], ids=lambda value: str(value)
)
def test_a_timeout_says_how_busy_the_last_tenth_was(end: float, pattern: str) -> None:
    known = facts([], gpus=over_time([90.0] * 108 + [end] * 12), state="TIMEOUT")
    finding = found(known, TIMEOUT)
    assert finding.evidence["final_util_percent"] == pytest.approx(end)
    assert finding.evidence["walltime_requested_s"] == 10800
    assert (finding.evidence["pattern"], finding.confidence) == (pattern, 1.0)


def test_the_end_of_a_run_is_its_last_tenth_and_at_least_one_bucket() -> None:
    # 25 buckets: the last two; five buckets: the last one.
    many = facts([], gpus=over_time([90.0] * 23 + [40.0, 20.0], step_s=288.0), state="TIMEOUT")
    few = facts([], gpus=over_time([90.0] * 4 + [20.0], step_s=1440.0), state="TIMEOUT")
    assert found(many, TIMEOUT).evidence["final_util_percent"] == pytest.approx(30.0)
    assert found(few, TIMEOUT).evidence["final_util_percent"] == pytest.approx(20.0)


def test_a_timeout_looks_at_the_gpus_that_worked_and_not_at_the_idle_ones() -> None:
    evidence = found(facts([88.0] + [0.0] * 7, state="TIMEOUT"), TIMEOUT).evidence
    assert (evidence["final_util_percent"], evidence["pattern"]) == (pytest.approx(88.0), "busy")


def test_a_timeout_of_a_run_that_spun_to_the_end_says_so() -> None:
    gpus = [gpu(i, 99.0, power_avg_w=120.0, power_cap_w=500.0) if i == 0 else gpu(i, 99.0) for i in range(2)]
    assert found(facts([], gpus=gpus, state="TIMEOUT"), TIMEOUT).evidence["pattern"] == "spinning"


def test_a_timeout_of_which_the_end_was_not_measured_has_no_pattern() -> None:
    known = facts([], gpus=over_time([90.0] * 60 + [None] * 60), state="TIMEOUT")
    assert dict(found(known, TIMEOUT).evidence) == {"walltime_requested_s": 10800.0}
    unlimited = job_facts(job_record(state="TIMEOUT", walltime_requested_s=None), metrics_of())
    assert dict(found(unlimited, TIMEOUT).evidence) == {"walltime_requested_s": 7200.0}


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({"walltime_used_s": 7200, "walltime_requested_s": 12001}, True),
        ({"walltime_used_s": 7200, "walltime_requested_s": 12000}, False),
        ({"walltime_used_s": 900, "walltime_requested_s": 86400}, False),
        ({"walltime_used_s": 901, "walltime_requested_s": 86400}, True),
        ({"walltime_requested_s": 86400, "state": "FAILED"}, False),
        ({"walltime_requested_s": 86400, "job_name": "interactive"}, False),
        ({"walltime_requested_s": 86400, "job_name": "BASH"}, False),
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
    # A fact of Slurm's record: not scaled by the coverage of 0.
    (finding,) = findings(known)
    assert (finding.code, finding.confidence) == (FindingCode.WALLTIME_OVERREQUEST, 1.0)
    assert finding.evidence["used_fraction"] == pytest.approx(0.1)


def full(mem_gb: list[float], **record: Any) -> JobFacts:
    """Two GPUs, the first at 63.36 of 64 GB at some time, its memory over the run as given; the program failed."""
    first = over_time([90.0] * 120, mem_gb=mem_gb)[0] | {"peak_mem_gb": 63.36}
    return facts([], gpus=[first, gpu(1, 90.0)], cpu=QUIET, **{"state": "FAILED", "exit_code": "1:0"} | record)


def test_gpu_memory_that_is_full_when_the_program_fails_in_numbers() -> None:
    # 63.36 / 64 = 0.99: (0.99 - 0.95) / 0.05 = 0.8, a strength of 0.8.
    finding = found(full([63.0] * 120), OUT)
    assert finding.confidence == pytest.approx(rate(0.8))
    assert (finding.evidence["full_gpus"], finding.evidence["gpus"]) == (1, 2)
    assert finding.evidence["peak_memory_fraction"] == pytest.approx(0.99)
    assert found(full([63.0] * 120), PRESSURE) is None


@pytest.mark.parametrize(
    ("changes", "cpu", "code"),
    [
        ({"state": "FAILED", "exit_code": "1:0"}, {}, OUT),
        ({"state": "FAILED", "exit_code": "1"}, {}, OUT),
        ({"state": "FAILED", "exit_code": "0:9"}, {}, PRESSURE),
        ({"state": "FAILED", "exit_code": "0:0"}, {}, PRESSURE),
        ({"state": "FAILED", "exit_code": ""}, {}, PRESSURE),
        ({"state": "FAILED", "exit_code": "1:0"}, {"oom_kills": 1}, PRESSURE),
        ({"state": "COMPLETED", "exit_code": "1:0"}, {}, PRESSURE),
        ({"state": "CANCELLED", "exit_code": "1:0"}, {}, PRESSURE),
    ],
)
def test_only_a_failure_of_the_program_itself_points_to_the_gpus_memory(changes: dict, cpu: dict, code: str) -> None:
    timeline = {"step_s": 60.0, "util": [90.0] * 120, "mem_gb": [63.0] * 120}
    known = facts([], gpus=[gpu(0, 90.0, peak_mem_gb=63.5, timeline=timeline)], cpu=cpu, **changes)
    assert [each for each in (PRESSURE, OUT) if found(known, each)] == [code]


@pytest.mark.parametrize(
    ("mem_gb", "holds"),
    [
        ([63.0] * 120, True),
        ([63.0] * 90 + [30.0] * 30, False),
        ([63.0] * 91 + [30.0] * 29, True),
        ([63.0] + [30.0] * 118 + [57.1], True),
        ([63.0] + [30.0] * 118 + [57.0], False),
        ([30.0] * 120, True),
    ],
    ids=[
        "full",
        "emptied before the last quarter",
        "within it",
        "nine tenths of the peak at the end",
        "less",
        "a peak too short for a bucket, perhaps the last",
    ],
)
def test_memory_that_had_been_freed_before_the_end_did_not_run_out(mem_gb: list[float], holds: bool) -> None:
    # 0.9 x 63.36 = 57.02.
    known = full(mem_gb)
    assert (found(known, OUT) is not None) == holds
    assert (found(known, PRESSURE) is not None) != holds


def test_without_a_timeline_of_memory_the_peak_decides() -> None:
    first = gpu(0, 90.0, peak_mem_gb=63.36, timeline=None)
    assert found(facts([], gpus=[first], state="FAILED", exit_code="1:0"), OUT) is not None


def test_a_run_below_efficient_that_nothing_explains_says_what_was_ruled_out() -> None:
    gpus = [gpu(i, 50.0, power_avg_w=350.0) if i % 2 == 0 else gpu(i, 50.0) for i in range(8)]
    cpu = {"cores_allocated": 56, "busy_cores_avg": 14.0, "ranks": 8, "iowait_fraction": 0.01, "pressure_io_s": 72.0}
    (finding,) = findings(facts([], gpus=gpus, cpu=cpu))
    assert finding.confidence == pytest.approx(0.4)
    assert dict(finding.evidence) == {
        "pattern": "low_use",
        "gpus": 8,
        "elapsed_s": 7200.0,
        "avg_util_percent": pytest.approx(50.0),
        "peak_memory_fraction": 0.625,
        "busy_host_fraction": 0.25,
        "power_fraction": 0.7,
        "iowait_fraction": pytest.approx(0.01),
        "io_pressure_fraction": pytest.approx(0.01),
    }


@pytest.mark.parametrize(("util", "holds"), [(69.9, True), (70.0, False)])
def test_only_a_run_below_efficient_needs_an_explanation(util: float, holds: bool) -> None:
    assert (UNEXPLAINED in codes(facts([util] * 8, cpu=QUIET))) == holds


def test_what_was_measured_in_part_is_unexplained_with_less_confidence() -> None:
    known = facts([50.0] * 4, cpu=QUIET, gpus_allocated=8, gpus_requested=8)
    assert found(known, UNEXPLAINED).confidence == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("elapsed_s", "util", "pattern"), [(7200, 90.0, "failed"), (7200, 50.0, "low_use"), (599, 50.0, "failed")]
)
def test_a_failure_without_a_visible_cause_is_named_with_its_exit_code(
    elapsed_s: int, util: float, pattern: str
) -> None:
    # Ended within ten minutes its use says nothing.
    known = facts([util] * 8, cpu=QUIET, state="FAILED", exit_code="7:0", walltime_used_s=elapsed_s)
    (finding,) = findings(known)
    assert (finding.code, finding.evidence["pattern"]) == (UNEXPLAINED, pattern)
    assert (finding.evidence["state"], finding.evidence["exit_code"]) == ("FAILED", "7:0")
    assert ("avg_util_percent" in finding.evidence) == (pattern == "low_use")
    assert finding.confidence == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"walltime_requested_s": 86400}, FindingCode.WALLTIME_OVERREQUEST),
        ({"state": "TIMEOUT"}, TIMEOUT),
        ({"memory_requested_gb": 1920.0, "partition": "small-g"}, FindingCode.CORES_OR_MEMORY_BEYOND_SHARE),
    ],
)
def test_what_leaves_low_use_open_does_not_stand_for_its_cause(changes: dict, code: FindingCode) -> None:
    cpu = QUIET | {"peak_memory_gb": 40.0}
    assert codes(facts([50.0] * 8, cpu=cpu, request={"--mem": "0"}, **changes)) == {code, UNEXPLAINED}
    fullest = [gpu(i, 50.0, peak_mem_gb=63.0) for i in range(8)]
    assert codes(facts([], gpus=fullest, cpu=QUIET)) == {PRESSURE, UNEXPLAINED}


@pytest.mark.parametrize("state", ["NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REQUEUED"])
def test_what_the_system_ended_needs_no_explanation(state: str) -> None:
    assert codes(facts([50.0] * 8, cpu=QUIET, state=state)) == set()


def test_a_cause_that_holds_is_the_explanation() -> None:
    assert codes(facts([50.0] * 7 + [0.0], cpu=QUIET)) == {FindingCode.IDLE_GPUS}


@pytest.mark.parametrize(
    ("utils", "summed"),
    [([23.0] * 4, 92.0), ([30.0] * 4, None), ([10.0] * 4, None), ([80.0, 15.0], None)],
    ids=["one GPU's work", "more than one GPU's", "less than one GPU's", "unevenly shared"],
)
def test_gpus_that_are_together_as_busy_as_one_are_said_to_be(utils: list[float], summed: float | None) -> None:
    known = facts(utils, cpu=QUIET)
    evidence = next((finding.evidence for finding in findings(known) if finding.code is UNEXPLAINED), {})
    assert evidence.get("summed_util_percent") == summed
