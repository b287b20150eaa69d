"""What goes wrong on a node: nothing is lost that was kept, and what was lost is said."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector import closing, statefile
from tests.collector.hook_node import Node, checkpoint, measured, put_settings
from tests.payloads import decoded
from tests.processes import held, wait_until

NO_EPILOG = "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end"
LOST = re.compile("the sampling process hung or was killed: the last ([0-9]+) s of the job were not measured")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as node:
        yield node


@pytest.mark.parametrize("broken", ["intervals = 3\n", "interval_s = often\n", "\x00\xff", "interval_s = 0\n"])
def test_settings_that_make_no_sense_fail_no_job_and_write_nowhere_else(node: Node, broken: str) -> None:
    sound = node.config.read_text()
    default = Path("/var/lib/kaiku").exists()
    put_settings(node.config, f"state_dir = {node.state}\nfailures_file = {node.top}/elsewhere\n{broken}")
    node.hook("prolog")
    node.hook("epilog")
    assert node.samplers() == []
    assert (node.state.exists(), Path("/var/lib/kaiku").exists(), node.top / "elsewhere" in node.top.iterdir()) == (
        (False, default, False)
    )
    # With sound settings again the next payload of the node counts both.
    put_settings(node.config, sound)
    node.hook("prolog", SLURM_JOB_ID="8")
    checkpoint(node, "8.0")
    node.hook("epilog", SLURM_JOB_ID="8")
    (payload,) = node.spooled()
    said = [error for error in payload["errors"] if error.startswith("before on this node, 1 times: ")]
    assert [error.split(": ")[1:3] for error in said] == [["prolog", "ConfigError"], ["epilog", "ConfigError"]]
    assert measured(payload) == [90.0, 90.0]


def test_settings_that_are_not_there_are_a_mistake_too(node: Node) -> None:
    default = Path("/var/lib/kaiku").exists()
    node.config.rename(node.top / "away.conf")
    node.hook("prolog")
    node.hook("epilog")
    assert (node.state.exists(), Path("/var/lib/kaiku").exists(), node.samplers()) == (False, default, [])
    said = f"ConfigError: {node.config} does not exist"
    assert node.failures.read_text() == f"7\tprolog: {said}\n7\tepilog: {said}\n"


def test_a_folder_that_cannot_be_written_fails_no_job_and_is_said_by_the_next_payload(node: Node) -> None:
    node.write_config(state_dir="/proc/nothing/here")
    node.hook("prolog")
    node.hook("epilog")
    node.write_config()
    node.hook("epilog", SLURM_JOB_ID="8")
    (payload,) = node.spooled()
    assert payload["errors"][0] == "not sampled: no prolog ran for this job on this node"
    said = sorted(error.split(": ")[1:3] for error in payload["errors"][1:])
    assert said == [["epilog", "FileNotFoundError"], ["prolog", "FileNotFoundError"]]


def test_an_epilog_without_a_prolog_says_that_nothing_was_measured_and_why(node: Node) -> None:
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["sequence"] == 0
    assert [set(gpu) for gpu in payload["gpus"]] == [{"gpu_id", "missing"}] * 2
    assert payload["errors"] == ["not sampled: no prolog ran for this job on this node"]
    decoded(payload)


def test_a_killed_sampling_process_costs_what_is_after_its_checkpoint_and_that_is_said(node: Node) -> None:
    node.hook("prolog")
    before = checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    time.sleep(3)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert payload["gpus"][0]["measured_s"] >= round(before["gpus"][0]["totals"]["measured_s"], 3)
    lost_s = [LOST.fullmatch(error) for error in payload["errors"]]
    assert [3 <= int(found[1]) <= 8 for found in lost_s] == [True]


def test_a_hung_sampling_process_is_ended_by_the_epilog_and_that_is_said(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    (pid,) = node.samplers()
    os.kill(pid, signal.SIGSTOP)
    time.sleep(2.5)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    # It was given two seconds to answer, which are not part of the job.
    assert [int(LOST.fullmatch(error)[1]) >= 2 for error in payload["errors"]] == [True]
    wait_until("something is left", lambda: (node.jobs(), node.samplers()) == ([], []))


def test_a_sampling_process_ends_when_its_folder_is_gone(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    (pid,) = node.samplers()
    with held(pid):
        shutil.rmtree(node.state / "jobs/7.0")
    wait_until("it goes on for nobody", lambda: not node.samplers())


def test_the_timer_starts_a_killed_sampling_process_again_from_its_checkpoint(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    time.sleep(0.5)
    node.ship()
    wait_until("not started again", node.samplers)
    path = str(node.state / "jobs/7.0/own/checkpoint")
    wait_until("no checkpoint after it", lambda: statefile.read(path)["restarts"] == 1)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert "the collector was restarted 1 times" in payload["errors"]
    assert [error for error in payload["errors"] if error.startswith("sampling stood still for")]


@pytest.mark.parametrize(
    ("late_s", "answer", "is_closed"),
    [
        (1000, "Invalid job id specified", True),
        (1000, "Unable to contact", False),
        (100, "Invalid job id specified", False),
    ],
)
def test_a_job_long_past_its_time_limit_is_closed_if_slurm_knows_it_no_more(
    node: Node, late_s: int, answer: str, is_closed: bool
) -> None:
    squeue = node.top / "squeue"
    squeue.write_text(f"#!/bin/sh\necho 'slurm_load_jobs error: {answer}' >&2; exit 1\n")
    squeue.chmod(0o755)
    node.write_config(squeue=squeue)
    node.hook("prolog", SLURM_JOB_END_TIME=str(int(time.time()) - late_s))
    checkpoint(node)
    node.ship()
    assert (node.jobs() == []) is is_closed
    assert len(node.spooled()) == is_closed
    for payload in node.spooled():
        assert payload["errors"] == [
            "no epilog ran for this job on this node; it ends with its last sample, which may lie after the job's end"
        ]


def test_a_killed_before_its_first_checkpoint_is_said_to_be_unmeasured(node: Node) -> None:
    node.write_config(checkpoint_s=60)
    node.hook("prolog")
    wait_until("no sampling process", node.samplers)
    for path in (node.state / "jobs/7.0/own").glob("checkpoint*"):
        path.unlink()
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    for path in (node.state / "jobs/7.0/own").glob("checkpoint*"):
        path.unlink()
    node.hook("epilog")
    (payload,) = node.spooled()
    # A job of two seconds or more, as on a busy machine, also says how long it was not measured.
    said = payload["gpus"][0]["missing"]["avg_util"]
    assert said == "the collector took no sample" or LOST.fullmatch(said)


def test_after_a_reboot_the_timer_closes_the_job_with_its_last_checkpoint(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    path = str(node.state / "jobs/7.0/job")
    statefile.save(path, statefile.read(path) | {"boot_id": "another boot"})
    node.ship()
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert NO_EPILOG in payload["errors"]
    assert (node.jobs(), node.samplers()) == ([], [])


def test_a_full_disk_at_the_end_keeps_the_job_for_the_timer(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog", file_bytes_max=1000)
    assert (node.spooled(), node.jobs()) == ([], ["7.0"])
    node.ship()
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert node.jobs() == []


def test_a_full_disk_costs_checkpoints_and_is_said(node: Node) -> None:
    node.hook("prolog", file_bytes_max=1000)
    wait_until("no sampling process", node.samplers)
    time.sleep(0.5)
    assert not (node.state / "jobs/7.0/own/checkpoint").exists()
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["gpus"][0]["missing"] == {"avg_util": "the collector took no sample"}


def test_a_full_disk_at_the_start_is_the_reason_given_at_the_end(node: Node) -> None:
    node.hook("prolog", file_bytes_max=100)
    assert (node.jobs(), node.samplers()) == ([], [])
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["errors"] == ["not sampled: prolog: OSError: [Errno 27] File too large"]


def test_a_payload_that_cannot_be_kept_holds_up_no_other_and_is_said(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog", file_bytes_max=1000)
    assert (node.spooled(), node.jobs()) == ([], ["7.0"])
    assert "epilog: OSError: [Errno 27] File too large" in node.failures.read_text()
    node.hook("prolog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="3")
    checkpoint(node, "8.0")
    node.hook("epilog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="3")
    # The sender that this epilog started has closed what the first could not.
    wait_until("the other one", lambda: len(node.spooled()) == 2)
    assert {payload["job_id"]: measured(payload) for payload in node.spooled()} == {7: [90.0, 90.0], 8: [90.0]}
    assert "[Errno 27] File too large" in str([payload["errors"] for payload in node.spooled()])


def slurm_that_runs(node: Node, *jobs: int, state: str = "RUNNING") -> str:
    """A squeue that knows these jobs as running, and says of any other what Slurm's says."""
    script = node.top / "squeue"
    known = "".join(f"--jobs={job}) echo '{job}|{state}|'; exit;; " for job in jobs)
    script.write_text(
        f'#!/bin/sh\nfor word in "$@"; do case $word in {known}esac; done\n'
        "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1\n"
    )
    script.chmod(0o755)
    return str(script)


def test_a_job_whose_epilog_was_lost_ends_when_slurm_no_longer_knows_it_and_its_gpus_are_anothers(node: Node) -> None:
    node.write_config(squeue=slurm_that_runs(node, 7, 8))
    node.hook("prolog")
    checkpoint(node)
    node.hook("prolog", SLURM_JOB_ID="8")
    node.ship()
    assert node.jobs() == ["7.0", "8.0"]
    slurm_that_runs(node, 8)
    node.ship()
    assert (node.jobs(), len(node.samplers())) == (["8.0"], 1)
    (payload,) = node.spooled()
    assert (payload["job_id"], measured(payload)) == (7, [90.0, 90.0])
    assert NO_EPILOG in payload["errors"]


def test_a_job_that_nobody_samples_goes_on_only_if_slurm_runs_it(node: Node) -> None:
    node.write_config(squeue=slurm_that_runs(node, 7))
    for job, gpu in (("7", "1"), ("8", "2")):
        node.hook("prolog", SLURM_JOB_ID=job, SLURM_JOB_GPUS=gpu)
        checkpoint(node, f"{job}.0")
    for pid in node.samplers():
        os.kill(pid, signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    node.ship()
    wait_until("not started again", lambda: len(node.samplers()) == 1)
    assert (node.jobs(), [payload["job_id"] for payload in node.spooled()]) == (["7.0"], [8])


def test_a_job_whose_sampling_was_started_again_ends_when_slurm_no_longer_runs_it(node: Node) -> None:
    """A node that lost all its processes before Slurm noticed: nobody else may ever have its GPUs."""
    node.write_config(squeue=slurm_that_runs(node, 7))
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    node.ship()
    path = str(node.state / "jobs/7.0/own/checkpoint")
    wait_until("not started again", lambda: statefile.read(path)["restarts"] == 1)
    slurm_that_runs(node)
    node.ship()
    assert (node.jobs(), node.samplers()) == ([], [])
    (payload,) = node.spooled()
    assert NO_EPILOG in payload["errors"]


def test_a_disk_too_full_to_note_the_end_leaves_no_process_and_the_timer_closes_the_job(node: Node) -> None:
    node.write_config(squeue=slurm_that_runs(node))
    node.hook("prolog")
    checkpoint(node)
    # Room for the reason, and none for what an epilog writes down of the end.
    node.hook("epilog", file_bytes_max=60)
    wait_until("it goes on without its job", lambda: not node.samplers())
    assert (node.spooled(), node.jobs()) == ([], ["7.0"])
    node.ship()
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert NO_EPILOG in payload["errors"]
    assert "before on this node, 1 times: epilog: OSError: [Errno 27] File too large" in payload["errors"]
    assert node.jobs() == []


def test_a_job_that_is_completing_is_not_sampled_again(node: Node) -> None:
    """Its processes are gone, and its epilog is still to come, or was here and could write nothing down."""
    node.write_config(squeue=slurm_that_runs(node, 7, state="COMPLETING"))
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until("not killed", lambda: not node.samplers())
    node.ship()
    assert (node.samplers(), node.jobs(), node.spooled()) == ([], ["7.0"], [])
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]


@pytest.mark.parametrize(
    "payload",
    [
        {
            "a": [1, 2.5, None, True, False, '\u00e4\u202e\n"\ud83d', {}],
            "b": {"c": []},
            "d": 1e-9,
            "e": 2**60,
            "f": 1e22,
        },
        {"gpus": [{"gpu_id": 0, "timeline": {"util": [None, 0.1, 99]}}] * 50},
    ],
)
def test_a_payload_is_written_as_json_writes_it(payload: dict[str, Any]) -> None:
    assert closing.encoded(payload) == json.dumps(payload, separators=(",", ":")).encode()
    for nothing in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="Out of range float"):
            closing.encoded({"a": nothing})
    with pytest.raises(TypeError):
        closing.encoded({"a": object()})
