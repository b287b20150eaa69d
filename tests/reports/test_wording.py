"""Every finding and every recommendation says something true, kind and concrete."""

from __future__ import annotations

import re

import pytest

from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.rightsizing import Recommendation, RecommendationKind
from jobs.sbatch import OptionChange, Shape
from reports.advice import REASONS, assumption, reason
from reports.wording import TEXTS, TITLES, VERDICTS, finding_text, headline, verdict
from tests.payloads import gpu
from tests.reports.builders import judged, report

EVIDENCE = {
    FindingCode.NO_GPU_USE: {"gpus": 8, "idle_fraction": 1.0, "elapsed_s": 7200.0},
    FindingCode.PARALLELISM_MISMATCH: {
        "gpus": 8,
        "active_gpus": 2,
        "active_util_percent": 88.0,
        "inactive_util_percent": 0.3,
        "threshold_percent": 30.0,
    },
    FindingCode.IDLE_GPUS: {
        "idle_gpus": 1,
        "gpus": 8,
        "idle_fraction": 0.97,
        "elapsed_s": 7200.0,
        "gpu_list": "nid005123: 7",
    },
    FindingCode.CPU_BOTTLENECK: {
        "gpu_util_percent": 22.0,
        "cores_allocated": 56,
        "busy_cores": 50.4,
        "busy_fraction": 0.9,
        "pattern": "busy_host",
    },
    FindingCode.OVERSCALING: {
        "gpus": 8,
        "avg_util_percent": 17.5,
        "peak_memory_fraction": 0.0625,
        "peak_memory_gb": 4.0,
    },
    FindingCode.IO_OR_SYNC_STALL: {
        "first_third_percent": 80.0,
        "later_percent": 20.0,
        "drop_points": 60.0,
        "io_pressure_fraction": 0.5,
        "points_to": "io",
    },
    FindingCode.HOST_OUT_OF_MEMORY: {"oom_kills": 2, "peak_memory_gb": 59.9, "memory_limit_gb": 60.0},
    FindingCode.TIMEOUT: {"walltime_requested_s": 7200.0, "final_util_percent": 88.0},
    FindingCode.WALLTIME_OVERREQUEST: {
        "walltime_requested_s": 86_400.0,
        "walltime_used_s": 7200.0,
        "used_fraction": 1 / 12,
    },
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: {"active_gpus": 2, "gpus": 8, "nodes": 1, "partition": "standard-g"},
    FindingCode.LOAD_IMBALANCE: {
        "active_gpus": 8,
        "lowest_util_percent": 40.0,
        "highest_util_percent": 95.0,
        "mean_util_percent": 60.0,
        "variation": 0.4,
        "gpu_list": "nid005123: 4-7",
    },
    FindingCode.HOST_OVERSUBSCRIPTION: {
        "ranks": 8,
        "threads": 448,
        "cores_allocated": 56,
        "cpu_pressure_fraction": 0.4,
        "node": "nid005123",
    },
    FindingCode.LATE_START: {"idle_s": 2400.0, "idle_fraction": 1 / 3, "elapsed_s": 7200.0},
    FindingCode.IDLE_TAIL: {"idle_s": 3600.0, "idle_fraction": 0.5, "elapsed_s": 7200.0},
    FindingCode.BUSY_BUT_WAITING: {"busy_percent": 99.0, "power_w": 130.0, "power_fraction": 0.26, "modules": 4},
    FindingCode.KERNEL_TUNING: {"busy_percent": 60.0, "power_w": 260.0, "power_fraction": 0.52, "modules": 1},
    FindingCode.THROTTLED: {"throttled_fraction": 0.2, "throttled_gpus": 2, "gpus": 8, "elapsed_s": 7200.0},
    FindingCode.GPU_MEMORY_PRESSURE: {
        "full_gpus": 8,
        "gpus": 8,
        "peak_memory_gb": 62.0,
        "capacity_gb": 64.0,
        "peak_memory_fraction": 0.97,
        "gpu_list": "nid005123: 0-7",
    },
    FindingCode.GPU_OUT_OF_MEMORY: {
        "full_gpus": 1,
        "gpus": 8,
        "peak_memory_gb": 63.5,
        "capacity_gb": 64.0,
        "peak_memory_fraction": 0.99,
        "gpu_list": "nid005123: 3",
    },
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: {
        "gpus": 1,
        "billed_slices": 4,
        "needed_slices": 1,
        "memory_gb": 256.0,
        "peak_memory_gb": 30.0,
    },
}
MUST_SAY = {
    FindingCode.NO_GPU_USE: "All 8 GPUs were idle for 100 % of 2 h 00 min.",
    FindingCode.PARALLELISM_MISMATCH: "2 of 8 GPUs worked, at 88.0 % on average; the others stood at 0.3 %.",
    FindingCode.IDLE_GPUS: "1 of 8 GPUs was idle for 97 % of 2 h 00 min (nid005123: 7).",
    FindingCode.CPU_BOTTLENECK: "busy 22.0 % of the time while 50.4 of 56 CPU cores were busy (90 %)",
    FindingCode.OVERSCALING: "only 17.5 % on average, and none needed more than 4.0 GB (6 %)",
    FindingCode.IO_OR_SYNC_STALL: "fell from 80.0 % in the first third to 20.0 % afterwards",
    FindingCode.HOST_OUT_OF_MEMORY: "The fullest node reached 59.9 GB of a limit of 60.0 GB.",
    FindingCode.TIMEOUT: "The GPUs were still busy (88.0 % at the end)",
    FindingCode.WALLTIME_OVERREQUEST: "The job used 2 h 00 min of 1 d 00 h (8 %).",
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: "whole nodes: 1 node with 8 GPUs, of which 2 worked",
    FindingCode.LOAD_IMBALANCE: "the least busy stood at 40.0 %, the busiest at 95.0 %",
    FindingCode.HOST_OVERSUBSCRIPTION: "8 ranks ran 448 threads on 56 cores",
    FindingCode.LATE_START: "For the first 40 min 00 s of 2 h 00 min (33 %) no GPU had work",
    FindingCode.IDLE_TAIL: "For the last 1 h 00 min of 2 h 00 min (50 %) no GPU had work",
    FindingCode.BUSY_BUT_WAITING: "99.0 % busy, but the 4 modules drew 130 W on average (26 % of the cap)",
    FindingCode.KERNEL_TUNING: "at 60.0 % while the one module measured drew 52 % of the power cap",
    FindingCode.THROTTLED: "2 of 8 GPUs were slowed for heat or power, together 20 % of the time",
    FindingCode.GPU_MEMORY_PRESSURE: "8 of 8 GPUs came close to the end of their memory (62.0 GB of 64.0 GB",
    FindingCode.GPU_OUT_OF_MEMORY: "The program failed, and 1 of 8 GPUs came close to the end",
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: "used 30.0 GB of 256.0 GB of host memory. What it asked for is billed",
}


@pytest.mark.parametrize("code", FindingCode)
def test_every_code_has_a_title_and_a_text(code: FindingCode) -> None:
    assert MUST_SAY[code] in finding_text(Finding(code, 0.9, EVIDENCE[code]))
    assert TITLES[code]
    assert set(TITLES) == set(TEXTS) == set(FindingCode)


def test_a_single_gpu_is_spoken_of_as_one() -> None:
    text = finding_text(Finding(FindingCode.NO_GPU_USE, 1.0, EVIDENCE[FindingCode.NO_GPU_USE] | {"gpus": 1}))
    assert text.startswith("The GPU was idle")


@pytest.mark.parametrize(
    ("points_to", "expected"),
    [("io", "waited for files"), ("synchronisation", "ranks waiting for each other"), ("unclear", "was not measured")],
)
def test_a_stall_names_what_the_host_showed(points_to: str, expected: str) -> None:
    evidence = EVIDENCE[FindingCode.IO_OR_SYNC_STALL] | {"points_to": points_to}
    assert expected in finding_text(Finding(FindingCode.IO_OR_SYNC_STALL, 0.9, evidence))


@pytest.mark.parametrize(
    ("final", "expected"), [({"final_util_percent": 5.0}, "look for a hang"), ({}, "is not known")]
)
def test_the_advice_on_a_timeout_depends_on_its_end(final: dict, expected: str) -> None:
    evidence = {"walltime_requested_s": 7200.0} | final
    assert expected in finding_text(Finding(FindingCode.TIMEOUT, 1.0, evidence))


def test_an_out_of_memory_state_without_numbers_invents_none() -> None:
    text = finding_text(Finding(FindingCode.HOST_OUT_OF_MEMORY, 1.0, {}))
    assert text == "Slurm ended the job because it passed its host memory."


def test_every_class_has_a_verdict_and_none_of_them_blames() -> None:
    assert set(VERDICTS) == set(EfficiencyClass)
    spoken = " ".join([*VERDICTS.values(), *TITLES.values()]).lower()
    assert not re.search(r"\b(bad|fault|wrong|must|violat|abus|punish)", spoken)


def test_the_headline_says_the_use_or_that_it_was_not_measured() -> None:
    assert headline(judged().efficiency) == "Your job kept its 8 GPUs busy 22.0 % of the time"
    assert headline(judged([]).efficiency) == "The GPU use of your job was not measured"


def test_partial_data_are_said_first_and_uncounted_runs_last() -> None:
    partial = verdict(judged(gpus_allocated=16, gpus_requested=16).efficiency)
    assert partial.startswith("Partial: only 50 % of the GPU time was measured")
    assert verdict(judged(state="NODE_FAIL").efficiency).endswith("not counted in any statistic.")


ADVICE = {
    "active_gpus": ({"gpus": 8, "active_gpus": 2, "threshold_percent": 30.0}, "Only 2 GPUs showed sustained"),
    "gpu_memory": (
        {"gpus": 8, "active_gpus": 2, "memory_gpus": 6, "peak_memory_total_gb": 320.0},
        "6 GPUs hold the 320.0 GB of GPU memory",
    ),
    "no_gpu_use": ({"gpus": 8}, "No GPU showed sustained utilization"),
    "overscaling": (
        {"gpus": 8, "avg_util_percent": 17.5, "target_percent": 70.0, "busy_gpus": 2},
        "The work of 8 GPUs at 17.5 % fits on 2 GPUs at 70 %",
    ),
    "peak_memory": (
        {"memory_gb": 256.0, "peak_memory_gb": 30.0, "recommended_memory_gb": 36.0, "headroom_factor": 1.2},
        "at most 30.0 GB of the 256.0 GB",
    ),
    "run_time": (
        {
            "walltime_requested_s": 86_400.0,
            "walltime_used_s": 7200.0,
            "recommended_walltime_s": 9000.0,
            "headroom_factor": 1.2,
        },
        "a limit of 2 h 30 min",
    ),
    "own_runs": (
        {"longest_run_s": 10_800.0, "recommended_walltime_s": 13_500.0},
        "The longest of your last comparable runs took 3 h 00 min; a limit of 3 h 45 min",
    ),
    "own_scaling": (
        {"gpus": 8, "scaling_gpus": 2, "run_s": 9000.0, "elapsed_s": 7200.0},
        "Your own run on 2 GPUs took 2 h 30 min, this one on 8 GPUs 2 h 00 min",
    ),
    "busy_cores": ({"cores": 32, "busy_cores": 3.1, "recommended_cores": 7}, "kept 3.1 of 32 cores busy"),
    "host_share": (
        {"memory_gb": 256.0, "peak_memory_gb": 30.0, "cores": 32, "busy_cores": 3.1},
        "30.0 GB of 256.0 GB of host memory and kept 3.1 of 32 cores busy",
    ),
    "out_of_memory": (
        {"memory_gb": 64.0, "recommended_memory_gb": 77.0, "share_gb": 240.0},
        "ran out at 64.0 GB; up to 240.0 GB come with the GPUs",
    ),
}


def advised(basis: str, partition: str = "small-g", gpus: int = 2) -> Recommendation:
    shape = Shape(nodes=1, gpus=gpus, partition=partition)
    changes = (OptionChange("--gpus", "8", str(gpus)),)
    return Recommendation(RecommendationKind.GPUS, basis, ADVICE[basis][0], shape, changes)


@pytest.mark.parametrize("basis", ADVICE)
def test_every_basis_gives_its_reason(basis: str) -> None:
    assert set(ADVICE) == set(REASONS)
    assert ADVICE[basis][1] in reason(advised(basis), judged().facts)


def test_the_reason_for_fewer_gpus_reads_as_agreed() -> None:
    assert reason(advised("active_gpus"), judged().facts) == "Only 2 GPUs showed sustained utilization > 30 %."


def test_another_partition_is_explained() -> None:
    said = reason(advised("active_gpus"), judged(partition="standard-g").facts)
    assert said.endswith("; small-g bills by GPU, standard-g by whole node.")


def test_savings_state_their_assumption() -> None:
    assert assumption(judged().savings) == "the same run time of 2 h 00 min"


@pytest.mark.parametrize(
    ("util", "expected"),
    [
        ([90.0] * 120, "steady"),
        ([0.0] * 60 + [90.0] * 60, "idle for the first 1 h 00 min, steady"),
        ([90.0] * 40 + [20.0] * 60 + [0.0] * 20, "falling after the start, idle for the last 20 min 00 s"),
        ([90.0] * 2, "too few points to tell its course"),
        ([0.0] * 120, "no work seen"),
        ([None] * 120, "not measured"),
    ],
)
def test_the_phases_of_a_run_are_told_in_a_few_words(util: list[float | None], expected: str) -> None:
    timeline = {"step_s": 60.0, "util": util, "mem_gb": [1.0] * len(util)}
    told = {seen.label: seen.value for seen in report([gpu(0, 50.0, timeline=timeline)]).observed}
    assert told["GPU use over time"] == expected


def test_busy_gpus_are_praised_only_where_nothing_else_was_found() -> None:
    assert report([gpu(index, 95.0) for index in range(8)]).verdict.endswith("Nothing needs to change for their sake.")
    one_idle = report([gpu(index, 95.0 if index else 0.0) for index in range(8)])
    assert one_idle.verdict == "The GPUs were kept busy. Even so, there is something to look at below."
