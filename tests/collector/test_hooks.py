"""Prolog and epilog as slurmd runs them: they exit 0 at once, leave nothing behind, and lose nothing."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector import statefile
from collector.job import NoGpuJob, from_environment
from tests.collector.fake_node import FakeNode
from tests.payloads import decoded

SAMPLES = Path(__file__).parents[1] / "samples/slurm/hooks"
HOOK_S_MAX = 4.0
"""The hooks' own limit; a run takes about 0.05 s, and a loaded machine is given time."""


class Node:
    """A node with simulated GPUs: what slurmd would run, and what lies on its disk."""

    def __init__(self, top: Path) -> None:
        self.top, self.state = top, top / "state"
        self.gpus = FakeNode(top / "sys").gpus
        self.config = top / "collector.conf"
        self.write_config()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._beat)
        self.thread.start()

    def write_config(self, **settings: object) -> None:
        lines = {
            "state_dir": self.state,
            "sysfs_root": self.top / "sys",
            "scontrol": "",
            "token_file": self.top / "token",
            "interval_s": 0.05,
            "slow_interval_s": 0.2,
            "checkpoint_s": 0.2,
            **settings,
        }
        self.config.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))

    def _beat(self) -> None:
        while not self.is_over.wait(0.02):
            for gpu in self.gpus:
                gpu.show(90, used_bytes=2**33)

    def hook(self, name: str, file_bytes_max: int = resource.RLIM_INFINITY, **variables: str) -> None:
        """Run one hook with its output held open by a pipe, as slurmd does: it ends only when nobody holds it.

        A limit on the size of files stands for a full disk: it holds for the sampling process of a prolog too.
        """
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "collector", name, "--config", str(self.config)],
            env=environment(**variables),
            capture_output=True,
            timeout=60,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes_max, resource.RLIM_INFINITY)),
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert time.monotonic() - began < HOOK_S_MAX

    def samplers(self) -> list[int]:
        return processes("run", str(self.config))

    def spooled(self) -> list[dict[str, Any]]:
        paths = sorted((self.state / "spool").glob("summary-*.json"))
        return [json.loads(path.read_bytes()) for path in paths]

    def jobs(self) -> list[str]:
        return sorted(path.name for path in (self.state / "jobs").glob("*"))

    def ship(self) -> None:
        command = [sys.executable, "-m", "collector", "ship", "--config", str(self.config)]
        subprocess.run(command, env=environment(), capture_output=True, timeout=60, check=False)

    def stop(self) -> None:
        self.is_over.set()
        self.thread.join()
        for pid in [*self.samplers(), *processes("ship", str(self.config))]:
            os.kill(pid, signal.SIGKILL)


def environment(**variables: str) -> dict[str, str]:
    job = {
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_JOB_USER": "alice",
        "SLURM_JOB_ACCOUNT": "project_465000001",
        "SLURM_JOB_PARTITION": "small-g",
        "SLURM_JOB_GPUS": "0,1",
        "SLURM_JOB_NODELIST": "nid[005001-005002]",
        "SLURM_CLUSTER_NAME": "lumi",
        "SLURMD_NODENAME": "nid005001",
    }
    wanted = {**job, **variables}
    return {"PATH": os.environ["PATH"]} | {name: value for name, value in wanted.items() if value}


def processes(*words: str) -> list[int]:
    """Processes of the collector whose command line has all these words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if set(words) <= set(line) and state != "Z":
            found.append(int(folder.name))
    return found


def wait_until(is_so: Any, what: str, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    try:
        yield node
    finally:
        node.stop()


def measured(payload: dict[str, Any]) -> list[float]:
    """The mean use of every GPU of a payload that the portal takes."""
    return [gpu.avg_util for gpu in decoded(payload).gpus]


def checkpoint(node: Node, job: str = "7.0") -> dict[str, Any]:
    path = node.state / "jobs" / job / "checkpoint"
    wait_until(lambda: (statefile.read(str(path)) or {"elapsed_s": 0})["elapsed_s"] > 0.3, "no checkpoint")
    return statefile.read(str(path))


def test_a_job_is_sampled_from_its_prolog_to_its_epilog(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert (payload["job_id"], payload["node"], payload["errors"]) == (7, "nid005001", [])
    assert node.jobs() == []
    wait_until(lambda: not node.samplers(), "the sampling process went on")


def test_the_sampling_process_is_nobodys_child_and_last_in_line(node: Node) -> None:
    node.hook("prolog")
    # The process that starts it ends at once.
    wait_until(lambda: len(node.samplers()) == 1, "not one sampling process")
    (pid,) = node.samplers()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    nice, session, parent = int(fields[16]), int(fields[3]), int(fields[1])
    assert nice == 19
    assert session != os.getsid(0)
    assert parent != os.getpid()
    held = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()}
    assert not [path for path in held if path.startswith("pipe:")]


def test_a_job_without_gpus_is_left_alone(node: Node) -> None:
    node.hook("prolog", SLURM_JOB_GPUS="")
    node.hook("epilog", SLURM_JOB_GPUS="")
    assert (node.jobs(), node.samplers(), node.spooled()) == ([], [], [])


@pytest.mark.parametrize("broken", ["intervals = 3\n", "interval_s = often\n", "\x00\xff", "interval_s = 0\n"])
def test_settings_that_make_no_sense_fail_no_job(node: Node, broken: str) -> None:
    node.config.write_text(f"state_dir = {node.state}\n{broken}")
    node.hook("prolog")
    node.hook("epilog")
    assert node.samplers() == []


def test_a_folder_that_cannot_be_written_fails_no_job(node: Node) -> None:
    node.write_config(state_dir="/proc/nothing/here")
    for hook in ("prolog", "epilog"):
        command = [sys.executable, "-m", "collector", hook, "--config", str(node.config)]
        assert subprocess.run(command, env=environment(), capture_output=True, check=False).returncode == 0


def test_an_epilog_without_a_prolog_says_that_nothing_was_measured_and_why(node: Node) -> None:
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["sequence"] == 0
    assert [set(gpu) for gpu in payload["gpus"]] == [{"gpu_id", "missing"}] * 2
    assert payload["errors"] == ["not sampled: no prolog ran for this job on this node"]
    decoded(payload)


def test_a_killed_sampling_process_costs_one_checkpoint(node: Node) -> None:
    node.hook("prolog")
    before = checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until(lambda: not node.samplers(), "not killed")
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert payload["gpus"][0]["measured_s"] >= round(before["gpus"][0]["totals"]["measured_s"], 3)


def test_the_timer_starts_a_killed_sampling_process_again_from_its_checkpoint(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until(lambda: not node.samplers(), "not killed")
    time.sleep(0.5)
    node.ship()
    wait_until(node.samplers, "not started again")
    path = str(node.state / "jobs/7.0/checkpoint")
    wait_until(lambda: statefile.read(path)["restarts"] == 1, "no checkpoint after it")
    node.hook("epilog")
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert "the collector was restarted 1 times" in payload["errors"]
    assert [error for error in payload["errors"] if error.startswith("sampling stood still for")]


def test_a_killed_before_its_first_checkpoint_is_said_to_be_unmeasured(node: Node) -> None:
    node.write_config(checkpoint_s=60)
    node.hook("prolog")
    wait_until(node.samplers, "no sampling process")
    for path in (node.state / "jobs/7.0").glob("checkpoint*"):
        path.unlink()
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until(lambda: not node.samplers(), "not killed")
    (node.state / "jobs/7.0/checkpoint").unlink(missing_ok=True)
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["gpus"][0]["missing"] == {"avg_util": "the collector took no sample"}


def test_after_a_reboot_the_timer_closes_the_job_with_its_last_checkpoint(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    os.kill(node.samplers()[0], signal.SIGKILL)
    wait_until(lambda: not node.samplers(), "not killed")
    path = str(node.state / "jobs/7.0/job")
    statefile.save(path, statefile.read(path) | {"boot_id": "another boot"})
    node.ship()
    (payload,) = node.spooled()
    assert measured(payload) == [90.0, 90.0]
    assert "no epilog ran for this job on this node; it ends with its last checkpoint" in payload["errors"]
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
    wait_until(node.samplers, "no sampling process")
    time.sleep(0.5)
    assert not (node.state / "jobs/7.0/checkpoint").exists()
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["gpus"][0]["missing"] == {"avg_util": "the collector took no sample"}


def test_a_full_disk_at_the_start_is_the_reason_given_at_the_end(node: Node) -> None:
    node.hook("prolog", file_bytes_max=100)
    assert (node.jobs(), node.samplers()) == (["7.0"], [])
    node.hook("epilog")
    (payload,) = node.spooled()
    assert payload["errors"] == ["not sampled: prolog: OSError: [Errno 27] File too large"]


def test_two_epilogs_at_once_make_one_payload(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    both = [threading.Thread(target=node.hook, args=("epilog",)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    kept = [payload for payload in node.spooled() if payload["sequence"] == 1]
    assert len(kept) == 1
    assert measured(kept[0]) == [90.0, 90.0]


def test_gpus_given_to_the_next_job_end_the_sampling_of_the_one_before(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("prolog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="1,2")
    checkpoint(node, "8.0")
    wait_until(lambda: len(node.samplers()) == 1, "both jobs are sampled")
    node.hook("epilog", SLURM_JOB_ID="8", SLURM_JOB_GPUS="1,2")
    node.ship()
    by_job = {payload["job_id"]: payload for payload in node.spooled()}
    assert measured(by_job[7]) == [90.0, 90.0]
    assert [gpu["gpu_id"] for gpu in by_job[8]["gpus"]] == [1, 2]


def test_a_prolog_that_runs_twice_starts_one_sampling_process(node: Node) -> None:
    node.hook("prolog")
    checkpoint(node)
    node.hook("prolog", SLURM_JOB_ID="9", SLURM_JOB_GPUS="4")
    wait_until(lambda: len(node.samplers()) == 2, "not two sampling processes")
    assert node.jobs() == ["7.0", "9.0"]


def test_only_the_first_node_asks_for_the_jobs_record(node: Node) -> None:
    node.hook("prolog")
    node.hook("epilog")
    wait_until(lambda: list((node.state / "spool").glob("record-*")), "no record")
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
    assert payload["ended_at"] == payload["started_at"]


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
