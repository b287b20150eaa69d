"""The whole judgement on whatever the wire lets in: a defined answer, bounded numbers, no crash."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.assess import Assessment, assess
from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from cases.scorecard import drawn, judged
from education.seeds import seed_lessons
from jobs.records import JobRecord
from jobs.records import problems as record_problems
from metrics.payloads import NodePayload
from metrics.payloads import problems as summary_problems
from reports.job_report import job_report
from reports.text import report_text
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload, record, summary


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


SECONDS = st.sampled_from([0.0, 1.0, 59.0, 300.0, 7200.0, 1e9]) | st.floats(0, 1e9)
PERCENT = st.sampled_from([0.0, 1.0, 15.0, 30.0, 40.0, 70.0, 100.0]) | st.floats(0, 100)
GIGABYTES = st.sampled_from([0.0, 60.8, 64.0, 60_000.0]) | st.floats(0, 60_000)
READING = st.sampled_from([0.0, 120.0, 500.0, 1e15]) | st.floats(0, 1e15)
COUNT = st.sampled_from([0, 1, 8, 56, 10**7]) | st.integers(0, 10**7)
POINTS = st.lists(st.tuples(maybe(PERCENT), st.integers(1, 30)), max_size=6).map(
    lambda stretches: [value for value, length in stretches for _ in range(length)]
)

TIMELINE = st.builds(
    lambda step_s, util: {"step_s": step_s, "util": util, "mem_gb": [0.0] * len(util)},
    st.sampled_from([0.001, 1.0, 60.0, 1e7]),
    POINTS,
)
GPU_FIELDS = {
    "p95_util": maybe(PERCENT),
    "peak_mem_gb": maybe(GIGABYTES),
    "module_id": maybe(st.integers(0, 4)),
    "samples": maybe(COUNT),
    "measured_s": maybe(SECONDS),
    "active_s": maybe(SECONDS),
    "idle_s": maybe(SECONDS),
    "mem_total_gb": maybe(GIGABYTES),
    "util_histogram_s": maybe(st.dictionaries(st.integers(0, 100).map(str), SECONDS, max_size=4)),
    "timeline": maybe(TIMELINE),
    "power_avg_w": maybe(READING),
    "power_cap_w": maybe(READING),
    "energy_j": maybe(READING),
    "throttled_s": maybe(SECONDS),
}
LOOSE_FIELDS = ("timeline", "power_avg_w", "power_cap_w", "energy_j", "module_id", "p95_util")
CPU_FIELDS = {
    "cores_allocated": maybe(COUNT),
    "busy_cores_avg": maybe(st.floats(0, 4096)),
    "iowait_fraction": maybe(st.floats(0, 1)),
    "idle_fraction": maybe(st.floats(0, 1)),
    "ranks": maybe(COUNT),
    "threads_per_rank": maybe(st.floats(0, 1e6)),
    "peak_memory_gb": maybe(GIGABYTES),
    "memory_limit_gb": maybe(GIGABYTES),
    "oom_kills": maybe(COUNT),
    "pressure_cpu_s": maybe(SECONDS),
    "pressure_io_s": maybe(SECONDS),
}
RECORD_FIELDS = {
    "state": st.sampled_from(
        ["COMPLETED", "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "REQUEUED", "CANCELLED", ""]
    ),
    "exit_code": st.sampled_from(["", "0:0", "1:0", "0:9", ":", "x"]),
    "partition": st.sampled_from(["small-g", "standard-g", "dev-g", "lumid", ""]),
    "nodes": st.sampled_from([[], ["nid005123"], ["nid005123", "nid005124"], ["other"]]),
    "node_count": maybe(COUNT),
    "gpus_requested": maybe(COUNT),
    "gpus_allocated": maybe(COUNT),
    "ntasks": maybe(COUNT),
    "cpus_allocated": maybe(COUNT),
    "memory_requested_gb": maybe(st.floats(0, 1e7)),
    "walltime_requested_s": maybe(SECONDS),
    "walltime_used_s": maybe(SECONDS),
    "request": st.sampled_from(
        [
            {},
            {"--gpus": "8", "--mem": "480G"},
            {"--gres": "", "--exclusive": ""},
            {"--gpus-per-node": "x", "--time": ""},
        ]
    ),
}
GPU = st.fixed_dictionaries({"gpu_id": st.integers(0, 7), "avg_util": maybe(PERCENT)}, optional=GPU_FIELDS)
SOUND_GPU = st.builds(
    lambda changes, **use: gpu(**use) | changes,
    st.fixed_dictionaries({}, optional={name: GPU_FIELDS[name] for name in LOOSE_FIELDS}),
    gpu_id=st.integers(0, 7),
    avg_util=PERCENT,
)
NODE = st.fixed_dictionaries(
    {"gpus": st.lists(GPU | SOUND_GPU, max_size=4, unique_by=lambda each: each["gpu_id"])},
    optional={"cpu": maybe(st.fixed_dictionaries({}, optional=CPU_FIELDS))},
)
RECORD = st.fixed_dictionaries({}, optional=RECORD_FIELDS)


def accepted(nodes: list[dict[str, Any]]) -> list[NodePayload]:
    """The nodes as payloads, those that the border refuses left out."""
    names = ("nid005123", "nid005124", "nid005123.lumi")
    payloads = []
    for name, node in zip(names, nodes, strict=False):
        gpus = [{"missing": {"avg_util": "unreadable"}} | each for each in node["gpus"]]
        payload = msgspec.convert(summary(node=name) | node | {"gpus": gpus}, NodePayload, str_keys=True)
        payloads += [] if summary_problems(payload) else [payload]
    return payloads


def check(judged: Assessment) -> None:
    """What holds for every judgement."""
    efficiency = judged.efficiency
    assert (efficiency.avg_gpu_util is None) == (efficiency.efficiency_class is EfficiencyClass.UNKNOWN)
    assert efficiency.avg_gpu_util is None or 0 <= efficiency.avg_gpu_util <= 100
    assert 0 <= efficiency.coverage_fraction <= 1
    for name in ("gpu_hours", "wasted_gpu_hours", "idle_gpu_hours"):
        hours = getattr(efficiency, name)
        assert hours is None or (math.isfinite(hours) and hours >= 0)
    for finding in judged.findings:
        assert 0 <= finding.confidence <= 1
        numbers = [value for value in finding.evidence.values() if not isinstance(value, str)]
        assert all(math.isfinite(value) for value in numbers)
    for advice in judged.recommendations:
        assert bool(advice.changes) != bool(advice.request)
        assert all(
            change.requested != change.recommended for change in advice.changes if change.option != "--exclusive"
        )
    assert judged.savings is None or judged.savings.gpu_hours >= 0
    assert report_text(job_report(judged, seed_lessons()))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(RECORD, st.lists(NODE, max_size=3))
def test_whatever_the_wire_accepts_gets_a_sound_judgement(changes: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    told = msgspec.convert(record() | changes, JobRecord)
    assert record_problems(told) == []
    check(assess(told, metrics_of(*accepted(nodes))))


def test_nothing_measured_is_unknown_and_says_why() -> None:
    judged = assess(job_record(), metrics_of())
    assert judged.efficiency.efficiency_class is EfficiencyClass.UNKNOWN
    assert judged.not_measured == ("GPU use: no summary arrived from any node of this job",)


@pytest.mark.parametrize(
    "timeline", [{"step_s": 60.0}, {"step_s": 60.0, "util": [90.0], "mem_gb": [1.0]}, {"step_s": 1.0, "util": [None]}]
)
def test_an_empty_timeline_or_one_sample_still_gives_a_class(timeline: dict[str, Any]) -> None:
    judged = assess(job_record(), metrics_of(node_payload(gpus=[gpu(i, 90.0, timeline=timeline) for i in range(8)])))
    assert judged.efficiency.efficiency_class is EfficiencyClass.EFFICIENT
    assert judged.findings == ()


def test_a_job_of_no_length_is_partial_and_short_and_bills_nothing() -> None:
    judged = assess(job_record(walltime_used_s=0), metrics_of(node_payload([0.0] * 8)))
    assert judged.efficiency.is_partial
    assert judged.efficiency.uncounted_reason == "short"
    assert judged.efficiency.gpu_hours == 0
    assert judged.findings == ()
    assert any("Slurm recorded none" in said for said in judged.not_measured)


def test_a_clock_step_is_said_and_coverage_stays_a_share() -> None:
    judged = assess(job_record(walltime_used_s=3600), metrics_of(node_payload()))
    assert judged.efficiency.coverage_fraction == 1.0
    assert "time: 8 GPUs measured for longer than the job ran (a clock step?)" in judged.not_measured


def test_a_clock_step_on_some_gpus_does_not_stand_in_for_others() -> None:
    # Four of eight GPUs, each told for twice the run: half of the GPU time was seen, not all of it.
    judged = assess(job_record(walltime_used_s=3600), metrics_of(node_payload([90.0] * 4)))
    assert judged.efficiency.coverage_fraction == pytest.approx(0.5)


def test_more_gpus_than_were_allocated_are_said() -> None:
    judged = assess(job_record(gpus_allocated=4, gpus_requested=4), metrics_of(node_payload()))
    assert judged.efficiency.measured_gpus == 8
    assert "GPU use: 8 GPUs were measured where Slurm allocated 4" in judged.not_measured


def test_a_strangers_node_and_a_node_under_two_names_do_not_count() -> None:
    nodes = [
        node_payload([90.0] * 8),
        node_payload([0.0] * 8, node="nid005123.lumi"),
        node_payload([0.0] * 8, node="nid009999"),
    ]
    judged = assess(job_record(), metrics_of(*nodes))
    assert judged.efficiency.avg_gpu_util == pytest.approx(90.0)
    assert judged.efficiency.measured_gpus == 8
    assert "nid005123.lumi: already counted under another name, left out" in judged.not_measured
    assert "nid009999: not part of this job, left out" in judged.not_measured


def test_a_measured_time_next_to_nothing_divides_nothing() -> None:
    # One reading of a second in 5e-324 s: only its mean of 0 shows that it was idle.
    judged = assess(job_record(gpus_allocated=1), metrics_of(node_payload(gpus=[gpu(0, 0.0, **NEXT_TO_NOTHING)])))
    assert judged.efficiency.efficiency_class is EfficiencyClass.WASTED
    assert judged.efficiency.coverage_fraction == 0.0
    assert judged.efficiency.idle_gpu_hours == 0.0
    # Nothing is said of its use: no measured second supports it.
    assert {finding.code for finding in judged.findings} == {FindingCode.CORES_OR_MEMORY_BEYOND_SHARE}


NEXT_TO_NOTHING = {"measured_s": 5e-324, "idle_s": 1.0, "active_s": 0.0, "util_histogram_s": None}


def test_a_capacity_of_nothing_or_a_peak_above_it_is_dropped_and_named() -> None:
    # 70 of 64 GB without a capacity of its own: the hardware's is known.
    gpus = [gpu(0, 90.0, mem_total_gb=0.0, peak_mem_gb=0.0), gpu(1, 90.0, mem_total_gb=None, peak_mem_gb=70.0)]
    judged = assess(job_record(gpus_allocated=2, gpus_requested=2), metrics_of(node_payload(gpus=gpus)))
    assert "GPU memory: 2 GPUs reported an impossible peak or capacity" in judged.not_measured
    assert judged.efficiency.avg_gpu_util == pytest.approx(90.0)
    assert judged.efficiency.peak_gpu_mem_gb == 0.0


def test_a_gpu_that_lacks_what_its_peers_have_is_named_and_left_out() -> None:
    gpus = [*(gpu(index, 90.0) for index in range(7)), {"gpu_id": 7, "avg_util": 5.0}]
    judged = assess(job_record(), metrics_of(node_payload(gpus=gpus)))
    assert judged.efficiency.avg_gpu_util == pytest.approx(90.0)
    assert "GPU 7 on nid005123: set of fields differs from its peers, left out of the mean" in judged.not_measured


def test_two_gpus_one_without_use_average_over_the_measured_one() -> None:
    # The peers say 90 and 45 of the same job.
    gpus = [gpu(0, 90.0), gpu(1, None, missing={"avg_util": "no reading"})]
    judged = assess(job_record(gpus_allocated=2, gpus_requested=2), metrics_of(node_payload(gpus=gpus)))
    assert judged.efficiency.avg_gpu_util == pytest.approx(90.0)
    assert judged.efficiency.is_partial


def test_a_timeout_and_an_idle_gpu_are_both_said() -> None:
    judged = assess(job_record(state="TIMEOUT"), metrics_of(node_payload([90.0] * 7 + [0.0])))
    assert {FindingCode.TIMEOUT, FindingCode.IDLE_GPUS} <= {finding.code for finding in judged.findings}


@given(st.floats(0, 1), st.floats(0, 1))
def test_less_coverage_is_never_more_confidence(less: float, more: float) -> None:
    less, more = sorted((less, more))
    sure = []
    for share in (less, more):
        measured_s = share * 7200.0
        part = {"measured_s": measured_s, "idle_s": measured_s, "active_s": 0.0, "util_histogram_s": None}
        judged = assess(job_record(), metrics_of(node_payload(gpus=[gpu(i, 0.0, **part) for i in range(8)])))
        sure.append({finding.code: finding.confidence for finding in judged.findings})
    for code in sure[0].keys() & sure[1].keys():
        assert sure[0][code] <= sure[1][code] + 1e-9


@given(st.floats(0.95, 1), st.floats(0.95, 1))
def test_more_evidence_is_never_less_confidence(less: float, more: float) -> None:
    sure = []
    for idle in sorted((less, more)):
        part = {"idle_s": idle * 7200.0, "active_s": (1 - idle) * 7200.0}
        judged = assess(job_record(), metrics_of(node_payload(gpus=[gpu(i, 0.0, **part) for i in range(8)])))
        sure += [f.confidence for f in judged.findings if f.code is FindingCode.NO_GPU_USE]
    assert len(sure) == 2
    assert 0.5 <= np.round(sure[0], 9) <= np.round(sure[1], 9) <= 1


@pytest.mark.parametrize(
    "kind",
    ["parallelism_mismatch", "overscaled", "io_stall", "late_start", "collective_hang", "throttled", "half_a_node"],
)
def test_a_finding_of_twice_as_many_gpus_is_half_as_sure_or_not_raised(kind: str) -> None:
    job = drawn(kind, 3)
    gpus = job.record["gpus_allocated"]
    doubled = replace(job, record=job.record | {"gpus_allocated": 2 * gpus, "gpus_requested": 2 * gpus})
    whole = {finding.code: finding.confidence for finding in judged(job).findings}
    half = {finding.code: finding.confidence for finding in judged(doubled).findings}
    assert half.keys() <= whole.keys()
    assert all(half[code] == pytest.approx(whole[code] / 2, abs=0.03) for code in half)
