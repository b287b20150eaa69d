"""Every finding and every recommendation says something true, kind and concrete."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from education.seeds import seed_lessons
from reports.finding_texts import TEXTS, finding_text
from reports.lessons import lesson_view
from reports.wording import TITLES, TITLES_OF_PATTERNS, headline, title, verdict
from tests.payloads import gpu
from tests.reports.builders import judged

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
    FindingCode.LOSS_IS_NAN: {
        "metric": "train/loss",
        "step": 4210,
        "since_s": 3600.0,
        "nan_s": 32_400.0,
        "nan_fraction": 0.9,
        "gpu_hours_since": 36.0,
    },
    FindingCode.STEP_PAUSES: {
        "pauses": 24,
        "paused_s": 7200.0,
        "typical_s": 300.0,
        "paused_fraction": 0.2,
        "working_percent": 92.0,
        "paused_percent": 6.0,
        "gpu_hours_since": 8.0,
    },
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
    FindingCode.LOW_USE_UNEXPLAINED: {
        "pattern": "low_use",
        "gpus": 8,
        "elapsed_s": 7200.0,
        "avg_util_percent": 35.0,
        "peak_memory_fraction": 0.5,
        "busy_host_fraction": 0.12,
        "power_fraction": 0.4,
        "iowait_fraction": 0.02,
    },
}
MUST_SAY = {
    FindingCode.NO_GPU_USE: "All 8 GPUs were idle for 100 % of 2 h 00 min.",
    FindingCode.PARALLELISM_MISMATCH: "2 of 8 GPUs worked, at 88.0 % on average; the others were at 0.3 %.",
    FindingCode.IDLE_GPUS: "1 of 8 GPUs was idle for 97 % of 2 h 00 min (nid005123: 7).",
    FindingCode.CPU_BOTTLENECK: "busy 22.0 % of the time while 50.4 of 56 CPU cores were busy (90 %)",
    FindingCode.OVERSCALING: "only 17.5 % on average, and none needed more than 4.0 GB (6 %)",
    FindingCode.IO_OR_SYNC_STALL: "fell from 80.0 % in the first third to 20.0 % afterwards",
    FindingCode.HOST_OUT_OF_MEMORY: "The fullest node reached 59.9 GB of a limit of 60.0 GB.",
    FindingCode.TIMEOUT: "The GPUs were still busy (88.0 % at the end)",
    FindingCode.WALLTIME_OVERREQUEST: "The job used 2 h 00 min of 1 d 00 h (8 %).",
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: "whole nodes: 1 node with 8 GPUs, of which 2 worked",
    FindingCode.LOAD_IMBALANCE: "the least busy was at 40.0 %, the busiest at 95.0 %",
    FindingCode.HOST_OVERSUBSCRIPTION: "8 ranks ran 448 threads on 56 cores",
    FindingCode.LATE_START: "For the first 40 min 00 s of 2 h 00 min (33 %) no GPU had work",
    FindingCode.IDLE_TAIL: "For the last 1 h 00 min of 2 h 00 min (50 %) no GPU had work",
    FindingCode.BUSY_BUT_WAITING: "99.0 % busy, but the 4 modules drew 130 W on average (26 % of the power cap)",
    FindingCode.LOSS_IS_NAN: "from step 4,210 on, 1 h 00 min after the start",
    FindingCode.STEP_PAUSES: "Steps paused 24 times, for 5 min 00 s in a usual pause and 2 h 00 min (20 %) in all",
    FindingCode.KERNEL_TUNING: "at 60.0 % while the one module measured drew 52 % of the power cap",
    FindingCode.THROTTLED: "2 of 8 GPUs were slowed for heat or power, together 20 % of 2 h 00 min",
    FindingCode.GPU_MEMORY_PRESSURE: "8 of 8 GPUs nearly filled their memory (62.0 GB of 64.0 GB",
    FindingCode.GPU_OUT_OF_MEMORY: "The program failed, and 1 of 8 GPUs nearly filled its memory",
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: "used 30.0 GB of 256.0 GB of host memory. Its request is billed",
    FindingCode.LOW_USE_UNEXPLAINED: "The 8 GPUs were busy 35.0 % of the time, and no known pattern matches.",
}


RUN = judged().facts
EMPTY = judged([gpu(index, 0.0, peak_mem_gb=0.4) for index in range(8)]).facts
"""A run whose GPUs hold no more than what opening them takes."""
ELSEWHERE = judged(cluster="elsewhere").facts


def text(code: FindingCode, facts: JobFacts = RUN, **evidence: Any) -> str:
    """The sentences of a finding with some of its evidence replaced."""
    return finding_text(Finding(code, 0.9, EVIDENCE[code] | evidence), facts)


@pytest.mark.parametrize("code", FindingCode)
def test_every_code_has_a_title_and_a_text(code: FindingCode) -> None:
    assert MUST_SAY[code] in text(code)
    assert TITLES[code]
    assert set(TITLES) == set(TEXTS) == set(FindingCode)


def test_a_single_gpu_is_spoken_of_as_one() -> None:
    one = judged([gpu(0, 0.0)], gpus_allocated=1, gpus_requested=1).facts
    assert text(FindingCode.NO_GPU_USE, one, gpus=1).startswith("The GPU was idle")


@pytest.mark.parametrize(
    ("busy_cores", "expected"),
    [
        (50.4, "50.4 CPU cores were busy at the same time: the work ran on the CPU cores."),
        (1.0, "About one CPU core was busy at the same time: the program ran there, or waited."),
        (0.2, "0.2 CPU cores were busy at the same time: the program waited for something"),
    ],
)
def test_idle_gpus_beside_busy_cores_mean_that_the_work_ran_there(busy_cores: float, expected: str) -> None:
    assert expected in text(FindingCode.NO_GPU_USE, EMPTY, busy_cores=busy_cores)


@pytest.mark.parametrize(
    ("busy_cores", "expected"),
    [
        (None, "no GPU work was measured: the program reached the GPUs and then waited, or ran on the CPU cores."),
        (50.4, "no GPU work was measured while 50.4 CPU cores were busy: the work ran on the CPU cores."),
        (
            1.0,
            "no GPU work was measured while about one CPU core was busy: the program reached the GPUs and then waited.",
        ),
        (0.2, "no GPU work was measured while 0.2 CPU cores were busy: the program reached the GPUs and then waited."),
    ],
)
def test_a_program_that_held_gpu_memory_is_not_said_to_have_missed_the_gpus(
    busy_cores: float | None, expected: str
) -> None:
    held = judged([gpu(index, 0.0, peak_mem_gb=20.8 - index) for index in range(8)]).facts
    evidence = {} if busy_cores is None else {"busy_cores": busy_cores}
    told = text(FindingCode.NO_GPU_USE, held, **evidence)
    assert "GPU memory was allocated (20.8 GB on the fullest GPU), but " in told
    assert expected in told
    assert "before it reached" not in told


def test_idle_time_of_a_run_that_was_measured_in_part_is_of_the_measured_time() -> None:
    # 8 GPUs x 60 s of 8 x 7200 s are 0.8 %; 8 of 16 GPUs are a half.
    brief = judged([gpu(index, 0.0, measured_s=60.0, idle_s=60.0, active_s=0.0) for index in range(8)]).facts
    for code in (FindingCode.NO_GPU_USE, FindingCode.IDLE_GPUS, FindingCode.THROTTLED):
        assert "of the measured time (< 1 % of 2 h 00 min)" in text(code, brief)
    half = judged([gpu(index, 0.0) for index in range(8)], gpus_allocated=16, gpus_requested=16)
    assert text(FindingCode.NO_GPU_USE, half.facts).startswith(
        "All 8 measured GPUs were idle for 100 % of the measured time (50 % of 2 h 00 min)."
    )
    assert headline(half) == "Your job did not use the 8 measured of its 16 GPUs"


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({}, "or several on the same one."),
        ({"pattern": "fewer_processes"}, "started fewer processes that use a GPU than it had GPUs."),
        ({"pattern": "ranks_share_gpus", "ranks": 16}, "The 16 ranks on their nodes shared the working GPUs"),
        ({"pattern": "one_gpu_of_each_module"}, "The working GPUs are one of each module"),
        ({"pattern": "memory_without_work"}, "Processes hold memory on the others but give them no work"),
        ({"pattern": "in_turns"}, "The 8 GPUs took turns: at any time only about 2 of them worked, at 88.0 %."),
    ],
)
def test_a_mismatch_is_named_by_its_pattern(evidence: dict[str, Any], expected: str) -> None:
    assert expected in text(FindingCode.PARALLELISM_MISMATCH, **evidence)


SHARED = {"pattern": "ranks_share_gpus", "ranks": 8, "ranks_per_node": 8, "gpus_per_node": 8}


@pytest.mark.parametrize(
    ("evidence", "advised_gpus", "expected"),
    [
        (
            {},
            2,
            "Either bind each rank to its own GPU, with ROCR_VISIBLE_DEVICES=$SLURM_LOCALID for example, and keep"
            " the 8 GPUs, or request 2 GPUs as suggested.",
        ),
        ({"ranks": 16, "ranks_per_node": 16}, 2, "Either divide the ranks evenly over the 8 GPUs, or request 2 GPUs"),
        (
            {"ranks": 16, "ranks_per_node": 16},
            None,
            "shared the working GPUs. Divide the ranks evenly over the 8 GPUs.",
        ),
        ({"ranks": 4, "ranks_per_node": 4}, None, "for example, and request 4 GPUs."),
        ({"ranks_per_node": None}, None, "Bind each rank to its own GPU and keep the 8 GPUs."),
    ],
)
def test_ranks_that_share_gpus_get_one_each_or_fewer_gpus_never_both(
    evidence: dict[str, Any], advised_gpus: int | None, expected: str
) -> None:
    found = Finding(
        FindingCode.PARALLELISM_MISMATCH, 0.9, EVIDENCE[FindingCode.PARALLELISM_MISMATCH] | SHARED | evidence
    )
    told = finding_text(found, RUN, advised_gpus)
    assert expected in told
    assert ("ROCR_VISIBLE_DEVICES" in told) == (evidence.get("ranks_per_node", 8) in (4, 8))


def test_gpus_that_stopped_early_are_not_called_less_busy() -> None:
    told = text(FindingCode.LOAD_IMBALANCE, pattern="stopped_early", early_gpus=4, early_s=3600.0)
    assert told.startswith("4 of 8 working GPUs stopped up to 1 h 00 min before the last one")
    assert "least busy" not in told


@pytest.mark.parametrize(
    ("points_to", "expected"),
    [("io", "waited for files"), ("synchronisation", "ranks waiting for each other"), ("unclear", "was not measured")],
)
def test_a_stall_names_what_the_host_showed(points_to: str, expected: str) -> None:
    assert expected in text(FindingCode.IO_OR_SYNC_STALL, points_to=points_to)


@pytest.mark.parametrize("pattern", ["again_and_again", "fallen"])
def test_ranks_that_wait_for_each_other_are_not_sent_to_their_files(pattern: str) -> None:
    """In the sentences, in the lesson, and in its links; at a site with other GPUs too."""
    code = FindingCode.IO_OR_SYNC_STALL
    quiet = {"pattern": pattern, "points_to": "synchronisation", "io_pressure_fraction": 0.004}
    evidence = EVIDENCE[code] | {"stalls": 12, "lost_fraction": 0.25} | quiet
    told = finding_text(Finding(code, 0.9, evidence), RUN)
    assert "the host was mostly idle" in told.lower()
    assert "hardly waited for files (I/O pressure < 1 % of the time)" in told
    assert "ranks waiting for each other" in told
    assert not re.search("while the host waited|Input or output|Pack small files", told)
    for facts in (RUN, ELSEWHERE):
        lesson = lesson_view(code, seed_lessons(), facts.record, evidence)
        assert "slow rank" in lesson.text
        shown = f"{lesson.title} {lesson.text} {lesson.url} {[(link.title, link.url) for link in lesson.links]}"
        assert not re.search(r"lustre|file|data|stripe", shown, re.IGNORECASE)
        of_files = lesson_view(code, seed_lessons(), facts.record, evidence | {"points_to": "io"})
        assert "small files" in of_files.text


def test_stalls_that_come_again_and_steady_waiting_say_nothing_of_a_fall() -> None:
    waited = {"io_pressure_fraction": 0.5, "points_to": "io", "lost_fraction": 0.25}
    stalled = {"pattern": "again_and_again", "stalls": 12, **waited}
    steady = {"pattern": "steady", "gpu_util_percent": 40.0, **waited}
    code = FindingCode.IO_OR_SYNC_STALL
    assert finding_text(Finding(code, 0.9, stalled), RUN).startswith("All GPUs stopped 12 times, in total 25 % of")
    assert finding_text(Finding(code, 0.9, steady), RUN).startswith("The working GPUs were busy 40.0 % of the time")
    assert {title(Finding(code, 0.9, stalled)), title(Finding(code, 0.9, steady))} == {
        "The GPUs stopped repeatedly",
        "The GPUs waited for files",
    }


def test_a_title_follows_its_pattern_and_else_its_code() -> None:
    for (code, pattern), expected in TITLES_OF_PATTERNS.items():
        assert title(Finding(code, 0.9, {"pattern": pattern})) == expected != TITLES[code]
    assert title(Finding(FindingCode.TIMEOUT, 1.0, {"pattern": "busy"})) == TITLES[FindingCode.TIMEOUT]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ({"final_util_percent": 5.0}, "look for a hang"),
        ({"final_util_percent": 29.9}, "look for a hang"),
        ({"final_util_percent": 30.0}, "A longer limit, or checkpoints"),
        ({"final_util_percent": 5.0, "pattern": "idle"}, "look for a hang"),
        ({"final_util_percent": 99.0, "pattern": "spinning"}, "a longer limit would not help"),
        ({"pattern": "spinning"}, "a collective that never ended (RCCL)"),
        ({}, "is not known"),
    ],
)
def test_the_advice_on_a_timeout_depends_on_its_end(end: dict[str, Any], expected: str) -> None:
    evidence = {"walltime_requested_s": 7200.0} | end
    assert expected in finding_text(Finding(FindingCode.TIMEOUT, 1.0, evidence), RUN)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"node_count": 2, "gpus_allocated": 16}, "for a collective across nodes (RCCL) or in a deadlock"),
        ({}, "for another GPU of the node (RCCL) or in a deadlock"),
        ({"gpus_allocated": 1, "gpus_requested": 1}, "On a single GPU many small kernels or a small batch look like"),
    ],
)
def test_waiting_kernels_wait_for_what_the_run_had(record: dict[str, Any], expected: str) -> None:
    told = text(FindingCode.BUSY_BUT_WAITING, judged(**record).facts)
    assert expected in told
    assert ("across nodes" in told) == ("node_count" in record)
    assert "small batch" in told


def test_a_time_limit_reached_without_any_gpu_work_is_not_said_to_be_unknown() -> None:
    idle = judged([gpu(index, 0.0) for index in range(8)], state="TIMEOUT")
    told = finding_text(Finding(FindingCode.TIMEOUT, 1.0, {"walltime_requested_s": 7200.0}), idle.facts)
    assert told.endswith("No GPU had work in that time: find out why before you request more time.")


def test_a_job_of_one_gpu_is_not_spoken_of_as_several() -> None:
    one = {"gpus_allocated": 1, "gpus_requested": 1, "cpus_allocated": 7, "memory_requested_gb": 60.0}
    assert verdict(judged([gpu(0, 90.0)], **one)) == "The GPU was busy most of the time. No change needed."
    assert verdict(judged([gpu(0, 50.0)], **one)).startswith("The GPU was busy for much of the time")
    assert headline(judged([gpu(0, 0.0)], **one)) == "Your job did not use its GPU"
    full = text(FindingCode.GPU_MEMORY_PRESSURE, gpus=1, full_gpus=1)
    assert full.startswith("In this job its GPU nearly filled its memory")


def test_an_out_of_memory_state_without_numbers_invents_none() -> None:
    told = finding_text(Finding(FindingCode.HOST_OUT_OF_MEMORY, 1.0, {}), RUN)
    assert told.startswith("Slurm ended the job because it exceeded its host memory. Read the data in parts")
    assert not re.search(r"\d", told)


def test_no_clear_cause_says_what_was_ruled_out_and_what_to_try() -> None:
    told = text(FindingCode.LOW_USE_UNEXPLAINED)
    assert (
        "Ruled out: full GPU memory (50 % at most), busy CPU cores (12 % of them), the power limit (40 % of the cap),"
        " waiting for files (I/O wait 2 % of the cores)." in told
    )
    for step in ("srun --overlap --jobid=JOBID rocm-smi", "run once on 4 GPUs", "rocprofv3", "is bound to"):
        assert step in told
    assert "MPI" not in told
    assert "waiting in MPI and HIP looks like this, and so does a serial part" in text(
        FindingCode.LOW_USE_UNEXPLAINED, busy_cores_per_rank=1.02
    )


def test_what_was_not_measured_is_not_ruled_out() -> None:
    bare = {"pattern": "low_use", "gpus": 1, "elapsed_s": 7200.0, "avg_util_percent": 20.0}
    told = finding_text(Finding(FindingCode.LOW_USE_UNEXPLAINED, 0.4, bare), RUN)
    assert "were not measured, so none of them is ruled out" in told
    assert "Ruled out" not in told
    assert "run once on" not in told
    # A host that waited for files a fifth of the time is not ruled out by having been measured.
    waited = text(FindingCode.LOW_USE_UNEXPLAINED, iowait_fraction=0.2)
    assert "waiting for files" not in waited


def test_a_failed_run_without_a_cause_is_sent_to_its_output_and_hears_nothing_of_gpu_use() -> None:
    evidence = {"pattern": "failed", "gpus": 8, "elapsed_s": 99.0, "state": "FAILED", "exit_code": "1:0"}
    for facts, place in ((RUN, "a short test on dev-g"), (ELSEWHERE, "a short test job")):
        told = finding_text(Finding(FindingCode.LOW_USE_UNEXPLAINED, 0.4, evidence), facts)
        assert told.startswith("The program ended with exit code 1 after 1 min 39 s")
        assert "last lines of its output" in told
        assert place in told
        assert "GPU" not in told
