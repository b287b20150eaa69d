"""Prolog and epilog as slurmd runs them: they exit 0 at once, leave nothing behind, and lose nothing."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import signal
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from collector import closing, statefile
from collector import folder as job_folder
from collector.job import NoGpuJob, from_environment
from tests.collector.hook_node import Node, checkpoint, measured
from tests.payloads import errors_of
from tests.processes import wait_until

SAMPLES = Path(__file__).parents[1] / "samples/slurm/hooks"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with Node(tmp_path) as node:
        yield node


def test_a_job_is_sampled_from_its_prolog_to_its_epilog(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert (payload["job_id"], payload["node"], errors_of(payload)) == (7, "nid005001", ())
    assert node.jobs() == []
    wait_until("the sampling process went on", lambda: not node.samplers())


def test_a_sampling_process_that_ends_while_it_is_told_again_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "wake")
    reader, written = os.open(tmp_path / "wake", os.O_RDONLY | os.O_NONBLOCK), []
    opened = job_folder._writer

    def ending(folder: str) -> int | None:
        fd = opened(folder)
        if fd is not None:
            written.append(fd)
            os.close(reader)
        return fd

    monkeypatch.setattr(job_folder, "_writer", ending)
    closing.end(str(tmp_path), {"ended_at": 1.0, "exit_status": 0}, 1.0)
    assert (len(written), (tmp_path / "ended").exists()) == (1, True)


def test_a_process_that_reads_nothing_is_told_without_waiting_and_killed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "wake")
    pipe = os.open(tmp_path / "wake", os.O_RDWR | os.O_NONBLOCK)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"end" * 1000)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(pipe, b"e")
    job_folder.say_process(str(tmp_path))
    killed = []

    def ended_since(pid: int, number: int) -> None:
        killed.append((pid, number))
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", ended_since)
    closing.end(str(tmp_path), {"ended_at": 1.0, "exit_status": 0}, 0.0)
    assert killed == [(os.getpid(), signal.SIGKILL)]
    os.close(pipe)


def test_the_sampling_process_is_nobodys_child_and_last_in_line(node: Node) -> None:
    node.hook("prolog")
    # The process that starts it ends at once.
    wait_until("not one sampling process", lambda: len(node.samplers()) == 1)
    (pid,) = node.samplers()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    nice, session, parent = int(fields[16]), int(fields[3]), int(fields[1])
    assert nice == 19
    assert session != os.getsid(0)
    assert parent != os.getpid()
    held = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        # It opens and closes files of its own meanwhile.
        with contextlib.suppress(FileNotFoundError):
            held.append(os.readlink(path))
    assert held
    assert not [path for path in held if path.startswith("pipe:")]


def test_a_job_without_gpus_is_left_alone(node: Node) -> None:
    node.hook("prolog", SLURM_JOB_GPUS="")
    node.hook("epilog", SLURM_JOB_GPUS="")
    assert (node.jobs(), node.samplers(), node.spooled()) == ([], [], [])


@pytest.mark.needs("root", "setpriv")
def test_sampling_is_done_by_a_user_who_may_nothing_and_become_nobody_else(node: Node) -> None:
    # Where the collector is installed there is a user `kaiku`, also for a moment while another test installs it.
    node.write_config(user="no-such-user")
    node.hook("prolog")
    checkpoint(node)
    status = Path(f"/proc/{node.samplers()[0]}/status").read_text()
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    nobody = pwd.getpwnam("nobody")
    assert set(lines["Uid"].split()) == {str(nobody.pw_uid)}
    assert set(lines["Gid"].split()) == {str(nobody.pw_gid)}
    assert (lines["Groups"].split(), int(lines["CapEff"], 16), int(lines["CapPrm"], 16)) == ([], 0, 0)
    assert lines["NoNewPrivs"] == "1"
    node.write_config(user="root")
    node.hook("prolog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="3")
    checkpoint(node, "8.0")
    node.hook("epilog")
    node.hook("epilog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="3")
    assert [measured(payload) for payload in node.spooled()] == [[90.0, 90.0], [90.0]]


def test_a_range_of_millions_of_gpus_costs_nothing(node: Node) -> None:
    node.hook("prolog", SLURM_JOB_GPUS="0-30000000")
    assert (node.jobs(), node.samplers()) == ([], [])


def test_two_epilogs_at_once_make_one_payload(node: Node) -> None:
    for job in range(20, 26):
        node.hook("prolog", SLURM_JOB_ID=str(job))
        checkpoint(node, f"{job}.0")
        both = [
            threading.Thread(target=node.hook, args=("epilog",), kwargs={"SLURM_JOB_ID": str(job)}, daemon=True)
            for _ in "12"
        ]
        for each in both:
            each.start()
        for each in both:
            each.join()
    assert [payload["job_id"] for payload in node.spooled()] == list(range(20, 26))
    assert {errors_of(payload) for payload in node.spooled()} == {()}
    assert {use for payload in node.spooled() for use in measured(payload)} == {90.0}
    assert (node.jobs(), node.samplers(), node.failures.exists()) == ([], [], False)


def test_a_gpu_that_two_jobs_hold_is_sampled_for_both_and_both_say_so(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("prolog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="1,2")
    checkpoint(node, "8.0")
    assert len(node.samplers()) == 2
    node.ship()
    assert len(node.samplers()) == 2
    node.hook("epilog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="1,2")
    node.hook("epilog")
    by_job = {payload["job_id"]: payload for payload in node.spooled()}
    assert {job: measured(payload) for job, payload in by_job.items()} == {7: [90.0, 90.0], 8: [90.0, 90.0]}
    assert errors_of(by_job[7]) == ("GPU 1 was job 8's as well for some of the time: its use is of both",)
    assert errors_of(by_job[8]) == ("GPU 1 was job 7's as well for some of the time: its use is of both",)


def test_gpus_that_came_after_a_jobs_end_are_shared_with_nobody(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog")
    node.hook("prolog", SLURM_JOB_ID="8")
    checkpoint(node, "8.0")
    node.hook("epilog", SLURM_JOB_ID="8")
    assert [errors_of(payload) for payload in node.spooled()] == [(), ()]


def test_a_prolog_that_runs_twice_starts_one_sampling_process(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("prolog", SLURM_JOB_ID="9", SLURM_JOB_GPUS="4")
    wait_until("not two sampling processes", lambda: len(node.samplers()) == 2)
    assert node.jobs() == ["7.0", "9.0"]


def test_only_the_first_node_asks_for_the_jobs_record(node: Node) -> None:
    node.hook("prolog")
    node.hook("epilog")
    wait_until("no record", lambda: list((node.state / "spool").glob("record-*")))
    node.hook("prolog", SLURMD_NODENAME="nid005002", SLURM_JOB_ID="8")
    node.hook("epilog", SLURMD_NODENAME="nid005002", SLURM_JOB_ID="8")
    node.ship()
    (record,) = (node.state / "spool").glob("record-*")
    assert json.loads(record.read_bytes())["job_id"] == 7


def test_what_lies_on_the_node_is_roots_alone(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog")
    folders = [node.state, *(path for path in node.state.rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}
    files = [path for path in node.state.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_clock_that_is_set_back_harms_no_payload(node: Node) -> None:
    """The times of a job come from the wall clock, its durations do not."""
    node.hook("prolog")
    checkpoint(node)
    path = str(node.state / "jobs/7.0/job")
    statefile.save(path, statefile.read(path) | {"started_at": time.time() + 3600})
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    began, ended = (datetime.fromisoformat(payload[name]) for name in ("started_at", "ended_at"))
    assert 0.3 < (ended - began).total_seconds() < 10


@pytest.mark.parametrize(
    ("sample", "gpus"),
    [(path.name, "GPUS" in path.read_text()) for path in sorted(SAMPLES.glob("*.env"))],
)
def test_the_environment_of_a_real_slurms_hooks_is_understood(sample: str, gpus: bool) -> None:
    lines = (SAMPLES / sample).read_text().splitlines()
    variables = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    if not gpus:
        with pytest.raises(NoGpuJob):
            from_environment(variables, "")
        return
    job = from_environment(variables, "")
    assert str(job["job_id"]) == variables["SLURM_JOB_ID"]
    assert job["node"] == variables["SLURMD_NODENAME"]
    assert ",".join(map(str, job["gpus"])) == variables["ROCR_VISIBLE_DEVICES"]
