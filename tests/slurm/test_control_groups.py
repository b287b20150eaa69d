"""A Slurm that holds jobs in control groups: ranks, kills for want of memory, and jobs that the freezer suspends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from metrics.payloads import NodePayload
from tests.parts import GROUP_CONTROLLERS, GROUPS
from tests.payloads import errors_of
from tests.processes import wait_until
from tests.slurm.case_nodes import CaseNodes, seconds_of
from tests.slurm.cases_of_jobs import STEP_OPTIONS, STEPS, assert_suspended
from tests.slurm.cluster import NODES
from tests.slurm.together import Case, Running, started

pytestmark = [pytest.mark.slurm, pytest.mark.needs("control groups of version 1")]

PLUGINS = {
    "proctrack/linuxproc": "proctrack/cgroup",
    "task/none": "task/cgroup",
    "jobacct_gather/linux": "jobacct_gather/cgroup",
}
LIMIT_MB = 200
HUNGRY = """/usr/bin/python3 -c "x = bytearray(600 << 20)\""""


class GroupedNodes(CaseNodes):
    """Nodes whose jobs Slurm puts into control groups of version 1; those of version 2 want a systemd."""

    def arrange(self) -> None:
        super().arrange()
        path = self.top / "slurm.conf"
        text = path.read_text()
        for without, within in PLUGINS.items():
            text = text.replace(without, within)
        path.write_text(text)
        with (self.top / "cgroup.conf").open("a") as file:
            file.write("ConstrainRAMSpace=yes\n")

    def stop(self) -> None:
        super().stop()
        for group in (
            group for controller in GROUP_CONTROLLERS for node in NODES for group in groups_of(controller, node)
        ):
            with contextlib.suppress(OSError):
                group.rmdir()


def groups_of(controller: str, node: str) -> list[Path]:
    """Every group of a node, the innermost first."""
    top = GROUPS / controller / f"slurm_{node}"
    return [Path(folder) for folder, _, _ in os.walk(top, topdown=False)]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[Running]:
    nodes = GroupedNodes()
    try:
        with started(request, nodes) as cases:
            yield cases
    finally:
        nodes.stop()


def ranks_of_all_steps(nodes: CaseNodes) -> None:
    """Two ranks, then three and four at once: seven at most, without the script that starts them."""
    job = nodes.cluster.submit(nodes.script("steps", *STEPS), *STEP_OPTIONS)
    summary = nodes.summary(job)
    assert summary.cpu is not None
    assert (summary.cpu.ranks, summary.cpu.cores_allocated) == (7, 8)
    assert_sound(summary)


def rank_of_a_script(nodes: CaseNodes) -> None:
    """A script that does the work itself is the one rank."""
    summary = nodes.summary(nodes.work("--gpus=1", percent=60, seconds=4))
    assert summary.cpu is not None
    assert summary.cpu.ranks == 1
    assert_sound(summary)


def assert_sound(summary: NodePayload) -> None:
    """Processes that sleep keep no core busy, and no job more than it has."""
    assert errors_of(summary) == ()
    assert summary.cpu is not None
    assert 0 <= summary.cpu.busy_cores_avg < 0.5
    assert summary.cpu.oom_kills == 0
    # slurm.conf gives every job 1 GB a core.
    assert summary.cpu.memory_limit_gb == summary.cpu.cores_allocated


def out_of_memory(nodes: CaseNodes) -> None:
    """600 MB in a job of 200: killed as a script and as a step, at the limit."""
    hungry = nodes.script("hungry", "{work} 70 3", HUNGRY)
    step = nodes.script("hungry-step", f"srun {hungry}")
    options = ("--gpus=1", f"--mem={LIMIT_MB}M")
    jobs = [nodes.cluster.submit(script, *options) for script in (hungry, step)]
    # A step that is killed fails the script that waits for it, which is none of the killed ones.
    for job, ending in zip(jobs, (("OUT_OF_MEMORY", "0:125"), ("FAILED", "1:0")), strict=True):
        summary, record = nodes.summary(job), nodes.record(job)
        assert (record.state, record.exit_code) == ending
        assert record.memory_requested_gb == pytest.approx(LIMIT_MB / 1024)
        assert summary.cpu is not None
        assert summary.cpu.oom_kills == 1
        assert summary.cpu.memory_limit_gb == pytest.approx(LIMIT_MB / 1024, abs=0.001)
        assert summary.cpu.peak_memory_gb == pytest.approx(LIMIT_MB / 1024, rel=0.02)
        assert 0 <= summary.cpu.busy_cores_avg <= 1
        assert [gpu.active_s for gpu in summary.gpus] == [pytest.approx(3, abs=nodes.slack_s)]
        assert seconds_of(summary) < 3 + 3 * nodes.slack_s


def suspended(nodes: CaseNodes) -> None:
    """Slurm stops the processes and freezes them two seconds later: from then on nothing counts."""
    job = nodes.work("--gpus=2", percent=80, seconds=14)
    nodes.wait_for_samples(job, 2)
    nodes.cluster.run("scontrol", "suspend", str(job))
    (freezer,) = GROUPS.glob(f"freezer/slurm_*/uid_*/job_{job}/step_batch/freezer.state")
    wait_until("the freezer", lambda: freezer.read_text() == "FROZEN\n")
    began = time.monotonic()
    wait_until("five seconds", lambda: time.monotonic() > began + 5)
    nodes.cluster.run("scontrol", "resume", str(job))
    wait_until("the freezer", lambda: freezer.read_text() == "THAWED\n")
    assert_suspended(nodes, job, time.monotonic() - began, late_s=nodes.slack_s)


TABLE: dict[str, Case] = {
    "several steps, each with ranks": ranks_of_all_steps,
    "a script without steps": rank_of_a_script,
    "more memory than the job has": out_of_memory,
    "a job that is suspended and resumed": suspended,
}


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())
def test_in(running: Running, case: Case) -> None:
    running[case].result()
