"""The texts of early words: what they state, which commands they have, and what never gets into a command."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from typing import Any

import pytest

from analysis.early.findings import EarlyCode
from reports.early.wording import EarlyJob, EarlyText, early_text

STARTED_AT = datetime(2026, 11, 20, 10, 0, tzinfo=UTC)
EVIDENCE: dict[EarlyCode, dict[str, Any]] = {
    EarlyCode.ALL_GPUS_IDLE: {
        "since_s": 7200.0,
        "idle_s": 4320.0,
        "gpus": 8,
        "nodes": 1,
        "node": "nid005123",
        "worked_before": 1,
    },
    EarlyCode.CPU_ONLY: {
        "since_s": 0.0,
        "idle_s": 2400.0,
        "gpus": 8,
        "nodes": 1,
        "node": "nid005123",
        "worked_before": 0,
        "busy_cores": 30.2,
        "cores_allocated": 56,
    },
    EarlyCode.SOME_GPUS_UNUSED: {
        "since_s": 0.0,
        "idle_s": 2400.0,
        "unused_gpus": 7,
        "working_gpus": 1,
        "gpus": 8,
        "nodes": 1,
        "node": "nid005123",
        "gpu_list": "nid005123: 1-7",
    },
    EarlyCode.SPINNING: {
        "since_s": 3600.0,
        "spinning_s": 3600.0,
        "gpus": 8,
        "nodes": 1,
        "node": "nid005123",
        "busy_percent": 100.0,
        "power_w": 168.0,
        "cap_w": 560.0,
        "power_fraction": 0.3,
        "modules": 4,
    },
    EarlyCode.GPU_MEMORY_FULL: {
        "since_s": 1800.0,
        "now_gb": 60.5,
        "limit_gb": 64.0,
        "slope_gb_per_h": 27.0,
        "full_in_s_low": 400.0,
        "full_in_s_high": 520.0,
        "node": "nid005123",
        "full_gpus": 2,
        "gpus": 8,
        "gpu_list": "nid005123: 0-1",
    },
    EarlyCode.HOST_MEMORY_FILLING: {
        "since_s": 1800.0,
        "now_gb": 300.0,
        "limit_gb": 480.0,
        "slope_gb_per_h": 120.0,
        "full_in_s_low": 5000.0,
        "full_in_s_high": 6000.0,
        "node": "nid005123",
        "nodes": 1,
    },
    EarlyCode.LIMIT_TOO_SHORT: {
        "since_s": 0.0,
        "time_limit_s": 14_400.0,
        "needs_s_low": 18_000.0,
        "needs_s_high": 19_800.0,
        "unit": "steps",
        "steps_done": 600.0,
        "steps_total": 3000.0,
    },
}


def job(**changes: Any) -> EarlyJob:
    return EarlyJob(
        **{
            "cluster": "lumi",
            "job_id": 123456,
            "job_name": "train",
            "nodes": ("nid005123",),
            "partition": "standard-g",
            "started_at": STARTED_AT,
            "gpus": 8,
            "gpu_hours_so_far": 12.8,
            "gpu_hours_to_limit": 186.0,
        }
        | changes
    )


def text(code: EarlyCode, **changes: Any) -> EarlyText:
    return early_text(code, EVIDENCE[code], job(**changes))


def commands(said: EarlyText) -> list[str]:
    return [step.command for step in said.steps if step.command]


@pytest.mark.parametrize("code", EarlyCode)
def test_each_word_has_a_short_title_few_sentences_and_steps_with_commands(code: EarlyCode) -> None:
    said = text(code)
    assert 0 < len(said.title) <= 60
    assert 1 <= len(said.sentences) <= 3
    assert commands(said)
    assert said.possibility.command == "scancel 123456"
    assert not any("scancel" in command for command in commands(said))


def test_idle_gpus_state_since_when_for_how_long_and_what_it_costs() -> None:
    assert text(EarlyCode.ALL_GPUS_IDLE).sentences == (
        # 10:00 and 7200 s.
        "None of the 8 GPUs had work in the last 1 h 12 min. The last work ended at 2026-11-20 12:00 UTC.",
        "So far the job has used 12.8 GPU-hours; until its time limit it would use up to 186.0 more.",
    )


def test_a_price_that_is_not_known_is_not_stated() -> None:
    assert len(text(EarlyCode.ALL_GPUS_IDLE, gpu_hours_so_far=None).sentences) == 1
    assert text(EarlyCode.ALL_GPUS_IDLE, gpu_hours_to_limit=None).sentences[1] == (
        "So far the job has used 12.8 GPU-hours."
    )


def test_a_session_gets_other_words() -> None:
    said = text(EarlyCode.ALL_GPUS_IDLE, is_interactive=True)
    assert said.title == "This session does not use its GPUs"
    assert said.sentences[0] == "Session 123456 has not used its 8 GPUs for 1 h 12 min."
    assert said.possibility.text.startswith("If you no longer need the session, you can end it from the page")


def test_a_counter_that_stands_still_is_stated_as_a_fact() -> None:
    seen = {"since_s": 3600.0, "flat_s": 5400.0, "gpus": 8, "nodes": 1, "node": "nid005123"}
    said = early_text(EarlyCode.SPINNING, seen, job())
    assert said.title == "The GPUs are busy, but no step is made"
    assert said.sentences[0] == (
        "The last step was logged at 2026-11-20 11:00 UTC. In the 1 h 30 min after it no step was logged, while the"
        " GPUs showed as busy."
    )


def test_memory_states_the_range_of_time() -> None:
    assert (
        text(EarlyCode.HOST_MEMORY_FILLING)
        .sentences[1]
        .startswith("If it goes on like this, memory is full in 1 h 23 min to 1 h 40 min, before the time limit")
    )


def test_earlier_runs_are_stated_instead_of_progress() -> None:
    seen = {"time_limit_s": 10_800.0, "needs_s_low": 14_400.0, "needs_s_high": 15_840.0, "earlier_runs": 3, "gpus": 8}
    assert early_text(EarlyCode.LIMIT_TOO_SHORT, seen, job()).sentences[0] == (
        "The last 3 runs of the same work on 8 GPUs took 4 h 00 min to 4 h 24 min."
    )


def test_the_commands_are_exact_for_the_job() -> None:
    assert commands(text(EarlyCode.ALL_GPUS_IDLE)) == [
        "scontrol show job 123456 | grep StdOut",
        "srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty rocm-smi",
        "srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty bash -c"
        " 'ps -u \"$USER\" -o pid,pcpu,rss,comm --sort=-pcpu | head -n 20'",
        "srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty bash -c"
        ' \'for pid in $(pgrep -u "$USER" python); do py-spy dump --pid "$pid"; done\'',
    ]


def test_the_commands_about_memory_and_time_are_exact_too() -> None:
    assert commands(text(EarlyCode.HOST_MEMORY_FILLING))[:2] == [
        "srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty bash -c"
        " 'ps -u \"$USER\" -o pid,pcpu,rss,comm --sort=-rss | head -n 20'",
        "sstat --allsteps --jobs=123456 --format=JobID,MaxRSS,MaxRSSNode,AveRSS",
    ]
    assert commands(text(EarlyCode.LIMIT_TOO_SHORT))[0] == "scontrol show job 123456 | grep -E 'RunTime|EndTime'"


def test_a_job_on_several_nodes_is_looked_at_on_the_node_of_the_word() -> None:
    said = text(EarlyCode.HOST_MEMORY_FILLING, nodes=("nid005122", "nid005123"))
    assert commands(said)[0].startswith("srun --overlap --jobid=123456 --nodes=1 --ntasks=1 -w nid005123 --pty")


@pytest.mark.parametrize("node", ["nid1; rm -rf ~", "$(id)", "-w", "nid1\n", "nid 1", "ñid1", "a" * 80, ""])
def test_a_hostile_node_name_is_in_no_command(node: str) -> None:
    said = early_text(
        EarlyCode.ALL_GPUS_IDLE, {**EVIDENCE[EarlyCode.ALL_GPUS_IDLE], "node": node}, job(nodes=(node, node))
    )
    assert all(" -w " not in command for command in commands(said))


@pytest.mark.parametrize("job_id", [0, -1, 2**40])
def test_a_job_number_that_cannot_be_one_is_in_no_command(job_id: int) -> None:
    said = text(EarlyCode.ALL_GPUS_IDLE, job_id=job_id)
    assert (commands(said), said.possibility.command) == ([], "")


def test_other_hardware_has_other_tools() -> None:
    said = text(EarlyCode.SOME_GPUS_UNUSED, partition="unknown")
    assert commands(said)[0].endswith("--pty bash")


@pytest.mark.parametrize("code", EarlyCode)
def test_a_shell_reads_each_command(code: EarlyCode) -> None:
    said = text(code, nodes=("nid005122", "nid005123"))
    for command in [*commands(said), said.possibility.command]:
        subprocess.run(["bash", "-n", "-c", command], check=True)


def test_a_word_states_until_when_was_measured_and_when_memory_is_full_as_times() -> None:
    job = EarlyJob("lumi", 7, started_at=datetime(2026, 11, 20, 10, 0, tzinfo=UTC), gpus=8)
    seen = {
        "node": "nid005123",
        "now_gb": 416.0,
        "limit_gb": 480.0,
        "slope_gb_per_h": 120.0,
        # Measured until 13:14; full 32 to 45 minutes after that: 13:46 to 13:59.
        "until_s": 3 * 3600.0 + 14 * 60,
        "full_in_s_low": 32 * 60.0,
        "full_in_s_high": 45 * 60.0,
    }
    said = " ".join(early_text(EarlyCode.HOST_MEMORY_FILLING, seen, job).sentences)
    assert "memory is full between 2026-11-20 13:46 UTC and 2026-11-20 13:59 UTC, before the time limit" in said
    assert said.endswith("Measured until 2026-11-20 13:14 UTC.")
