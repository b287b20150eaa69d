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
from tests.reports.finding_evidence import EVIDENCE, MUST_SAY

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


SHARED = {"pattern": "ranks_share_gpus", "ranks": 8, "ranks_per_node": 8, "gpus_per_node": 8}


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"pattern": "fewer_processes"}, "started fewer processes that use a GPU than it had GPUs."),
        ({**SHARED, "ranks": 16}, "The 16 ranks on their nodes shared the working GPUs"),
        ({"pattern": "one_gpu_of_each_module"}, "The working GPUs are one of each module"),
        ({"pattern": "memory_without_work"}, "Processes hold memory on the others but give them no work"),
        ({"pattern": "in_turns"}, "The 8 GPUs took turns: at any time only about 2 of them worked, at 88.0 %."),
    ],
)
def test_a_mismatch_is_named_by_its_pattern(evidence: dict[str, Any], expected: str) -> None:
    assert expected in text(FindingCode.PARALLELISM_MISMATCH, **evidence)


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
        ({"final_util_percent": 30.0, "pattern": "busy"}, "A longer limit, or checkpoints"),
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
