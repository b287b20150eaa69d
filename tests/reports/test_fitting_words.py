"""What a report says fits the run: how long it was, what its hardware is, what its memory allows, why it failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.findings import Finding, FindingCode
from analysis.rightsizing import Recommendation, RecommendationKind
from jobs.sbatch import Shape
from reports.advice import reason
from reports.blocked import why_not_fewer
from reports.ending import exit_words
from reports.finding_texts import finding_text
from reports.job_report import SavingsView
from reports.sections import ONE_LINE, class_name, layout
from reports.text import report_text
from reports.wording import BUT, READ_OUTPUT, RELEASE, headline, no_advice, no_causes, verdict
from tests.analysis.runs import over_time
from tests.payloads import gpu
from tests.reports.builders import judged, report

IDLE = [gpu(index, 0.0) for index in range(8)]
ONE_OF_EIGHT_IDLE = [gpu(index, 95.0 if index else 0.0) for index in range(8)]
LOW = {"pattern": "low_use", "gpus": 8, "elapsed_s": 7200.0, "avg_util_percent": 35.0}


def test_a_completed_run_of_seconds_is_not_judged_and_keeps_its_class_for_machines() -> None:
    short = report(IDLE, walltime_used_s=12.0)
    assert class_name(short) == "Not judged"
    assert short.headline == "Your job completed after 12 s"
    assert short.efficiency.efficiency_class == "WASTED"
    assert "WASTED" not in report_text(short)
    assert class_name(report(IDLE)) == "Wasted"


@pytest.mark.parametrize(
    ("peak_gb", "says", "keeps_silent"),
    [
        # 8 x 28 GB = 224 GB; 4 GPUs hold 0.9 x 4 x 64 = 230.4 GB.
        (28.0, "run once on 4 GPUs and compare", "needs no more"),
        (29.0, "use a larger batch", "run once on"),
        # 52 of 64 GB are 81 %.
        (52.0, "give each step more work that needs no more GPU memory", "larger batch"),
        (None, "run once on 4 GPUs, if its data fits their memory, and compare", "needs no more"),
    ],
)
def test_steps_to_try_are_those_that_gpu_memory_allows(peak_gb: float | None, says: str, keeps_silent: str) -> None:
    facts = judged([gpu(index, 35.0, peak_mem_gb=peak_gb) for index in range(8)]).facts
    told = finding_text(Finding(FindingCode.LOW_USE_UNEXPLAINED, 0.4, LOW), facts)
    assert says in told
    assert keeps_silent not in told


def test_memory_of_some_gpus_can_show_that_half_of_them_are_too_few() -> None:
    known = [gpu(index, 35.0, peak_mem_gb=60.0 if index < 4 else None) for index in range(8)]
    told = finding_text(Finding(FindingCode.LOW_USE_UNEXPLAINED, 0.4, LOW), judged(known).facts)
    # 4 x 60 GB are more than the 230.4 GB of 4 GPUs already.
    assert "run once on" not in told


@pytest.mark.parametrize(
    ("partition", "expected"),
    [
        (
            "standard-g",
            "standard-g allocates and bills whole nodes: 1 node with 8 GPUs, of which 2 worked. A partition",
        ),
        (
            "small-g",
            "The job requested --exclusive, which allocates and bills whole nodes: 1 node with 8 GPUs, of which 2",
        ),
    ],
)
def test_whole_nodes_are_the_partitions_doing_or_that_of_an_option(partition: str, expected: str) -> None:
    facts = judged(partition=partition, is_exclusive=True).facts
    seen = {"active_gpus": 2, "gpus": 8, "nodes": 1, "partition": partition}
    told = finding_text(Finding(FindingCode.EXCLUSIVE_NODE_UNDERUSED, 1.0, seen), facts)
    assert told.startswith(expected)
    assert ("Leave out --exclusive" in told) == (partition == "small-g")


BUSY_TO_THE_END = {"final_util_percent": 88.0, "pattern": "busy"}


@pytest.mark.parametrize(
    ("limit_s", "says", "keeps_silent"),
    [
        # small-g gives three days.
        (259_200.0, "This is the longest limit in small-g: write checkpoints, and let a follow-up job", "longer limit"),
        (172_800.0, "A longer limit, or checkpoints and a follow-up job", "longest limit"),
    ],
)
def test_nobody_at_the_longest_limit_is_sent_to_a_longer_one(limit_s: float, says: str, keeps_silent: str) -> None:
    facts = judged(state="TIMEOUT", walltime_requested_s=limit_s).facts
    evidence = {"walltime_requested_s": limit_s} | BUSY_TO_THE_END
    told = finding_text(Finding(FindingCode.TIMEOUT, 1.0, evidence), facts)
    assert says in told
    assert keeps_silent not in told


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"cpus_allocated": 16}, "The job was allocated 16 cores, but 56 come with its 8 GPUs: request 7 for each GPU"),
        ({"cpus_allocated": 56}, "Move work from the cores to the GPUs"),
        ({"cluster": "elsewhere"}, "Move work from the cores to the GPUs"),
    ],
)
def test_cores_are_advised_where_the_job_left_some_out(record: dict[str, Any], expected: str) -> None:
    seen = {"gpu_util_percent": 22.0, "cores_allocated": 56, "busy_cores": 50.4, "busy_fraction": 0.9}
    told = finding_text(Finding(FindingCode.CPU_BOTTLENECK, 0.9, seen), judged(**record).facts)
    assert expected in told
    assert ("request 7" in told) == ("16" in expected)


def test_a_failed_run_whose_causes_do_not_explain_the_failure_is_sent_to_its_output() -> None:
    half_idle = over_time(*[[90.0] * 60 + [0.0] * 60] * 8)
    failed = judged(half_idle, state="FAILED", exit_code="1:0")
    assert READ_OUTPUT in verdict(failed)
    assert READ_OUTPUT not in verdict(judged(half_idle))
    full = replace(failed, findings=(Finding(FindingCode.GPU_OUT_OF_MEMORY, 0.9, {}),))
    assert READ_OUTPUT not in verdict(full)


def test_slurms_code_for_lack_of_memory_is_no_signal() -> None:
    assert "signal" not in exit_words("0:125")
    state = {row.label: row.value for row in layout(report(state="OUT_OF_MEMORY", exit_code="0:125")).facts}["State"]
    assert state == "OUT_OF_MEMORY"
    failed = {row.label: row.value for row in layout(report(state="FAILED", exit_code="0:9")).facts}["State"]
    assert failed == "FAILED (signal 9)"


POWER = {"busy_percent": 99.0, "power_w": 100.0, "power_fraction": 0.25, "modules": 4}


def test_power_is_of_gpus_where_each_reports_its_own(campus: None) -> None:
    here = judged(cluster="campus", partition="gpu").facts
    assert "but the 4 GPUs drew 100 W" in finding_text(Finding(FindingCode.BUSY_BUT_WAITING, 0.9, POWER), here)
    one = finding_text(Finding(FindingCode.KERNEL_TUNING, 0.9, POWER | {"modules": 1}), here)
    assert "while the one GPU measured drew" in one
    value = report(cluster="campus", partition="gpu")
    saved = replace(value, savings=SavingsView(1.0, "the same run time", 3_600_000.0))
    assert layout(saved).savings.endswith("Idle GPUs used 1.00\u00a0kWh.")


def test_idle_energy_on_lumi_is_of_modules() -> None:
    saved = replace(report(), savings=SavingsView(1.0, "the same run time", 3_600_000.0))
    assert layout(saved).savings.endswith("Idle modules used 1.00\u00a0kWh.")


def test_one_idle_gpu_is_no_size_and_the_report_says_so() -> None:
    run = judged(ONE_OF_EIGHT_IDLE)
    assert run.recommendations == ()
    assert no_advice(run) == (
        "Fewer GPUs are not suggested because the work needs 7 of the 8 GPUs, and work on 8 does not divide"
        " evenly into 7; give the idle GPU work instead."
    )
    assert no_causes(run) == ""
    assert no_advice(judged()) == ""


IDLE_GPUS = frozenset({FindingCode.IDLE_GPUS})


def test_what_blocks_a_smaller_request_is_named() -> None:
    half_measured = judged(ONE_OF_EIGHT_IDLE[:4], gpus_allocated=8).facts
    # 3 at work and 4 unmeasured ones are 7, which 8 does not divide into: what stops it is what was not measured.
    assert "4 GPUs of the job were not measured" in why_not_fewer(half_measured, IDLE_GPUS)
    one_idle = judged(ONE_OF_EIGHT_IDLE).facts
    assert "does not divide evenly into 7" in why_not_fewer(one_idle, IDLE_GPUS)
    unmeasured = judged([gpu(index, 95.0) for index in range(4)], gpus_allocated=8).facts
    assert why_not_fewer(unmeasured, IDLE_GPUS).endswith(
        "because 4 GPUs of the job were not measured and may have worked."
    )
    both = IDLE_GPUS | {FindingCode.HOST_OUT_OF_MEMORY}
    assert "host memory ran out: fix that first" in why_not_fewer(unmeasured, both)
    assert why_not_fewer(unmeasured, frozenset({FindingCode.LATE_START})) == ""


def test_waiting_gpus_are_not_followed_by_even_so_and_unused_ones_not_by_most_of_them() -> None:
    spun = replace(judged(ONE_OF_EIGHT_IDLE), findings=(Finding(FindingCode.BUSY_BUT_WAITING, 0.9, POWER),))
    assert "probably waited" in verdict(spun)
    assert BUT not in verdict(spun)
    unused = judged(IDLE)
    assert unused.recommendations[0].wanted.gpus < 4
    assert RELEASE not in verdict(unused)
    assert headline(unused) == "Your job did not use its 8 GPUs"


ACTIVE = {"gpus": 8, "active_gpus": 2, "threshold_percent": 30.0}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ({"cores": 14, "memory_gb": 120.0}, "> 30 %; 7 cores and 60.0 GB of host memory come with each GPU."),
        (
            {"cores": 56, "memory_gb": 120.0},
            "> 30 %; 60.0 GB of host memory come with each GPU; billed as 7 GPUs because of 56 cores (8 cores"
            " count as a GPU).",
        ),
        # One GPU comes with 7 cores and 60 GB; 1.2 x 7.9 = 9.48 and 1.2 x 80.2 = 96.24 are more.
        (
            {"gpus": 1, "cores": 10, "memory_gb": 97.0},
            "> 30 %; cores: 1.2 x the 7.9 that were busy; host memory: 1.2 x the 80.2 GB used; billed as 2 GPUs because"
            " of 10 cores and 97.0 GB of host memory (8 cores or 64 GB count as a GPU).",
        ),
        # 480 / 64 GB are 7.5, so 8 slices; 56 / 8 cores are 7.
        (
            {"cores": 56, "memory_gb": 480.0},
            "> 30 %; billed as 8 GPUs because of 480.0 GB of host memory (64 GB count as a GPU).",
        ),
    ],
)
def test_the_reason_says_where_cores_and_host_memory_come_from(shape: dict[str, Any], expected: str) -> None:
    wanted = Shape(**{"nodes": 1, "gpus": 2, "partition": "small-g"} | shape)
    advice = Recommendation(RecommendationKind.GPUS, "active_gpus", ACTIVE, wanted, ())
    assert reason(advice, judged().facts).endswith(expected)


def test_a_shared_partition_is_explained_once_and_exclusive_by_its_option() -> None:
    wanted = Shape(nodes=1, gpus=2, partition="small-g")
    fewer = Recommendation(RecommendationKind.GPUS, "active_gpus", ACTIVE, wanted, ())
    numbers = {"walltime_used_s": 7200.0, "recommended_walltime_s": 9000.0}
    shorter = Recommendation(RecommendationKind.WALLTIME, "run_time", numbers, wanted, ())
    whole = judged(partition="standard-g").facts
    assert "bills by GPU" in reason(fewer, whole)
    assert "bills by GPU" not in reason(shorter, whole)
    by_option = judged(is_exclusive=True).facts
    assert "; without --exclusive, small-g bills only the GPUs that you request" in reason(fewer, by_option)


def test_host_memory_stands_among_the_measurements() -> None:
    def shown(**record: Any) -> str:
        return {row.label: row.value for row in report(**record).observed}["Host memory"]

    assert shown() == "80.2 GB of 480.0 GB"
    assert shown(node_count=2, memory_requested_gb=960.0) == "80.2 GB of 480.0 GB on the fullest of 2 nodes"
    assert {row.label: row.value for row in report([]).observed}["Host memory"] == "not measured"


def test_a_time_limit_alone_is_not_called_a_complete_request() -> None:
    value = report(request={})
    timed = replace(value.recommendations[0], diff=(), request=("--time=02:30:00",))
    assert layout(replace(value, recommendations=(timed,))).introduction == ONE_LINE
