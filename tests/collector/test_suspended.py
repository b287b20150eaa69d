"""Jobs that Slurm suspends: that time is neither use nor idleness, whichever way the node is set up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.collector.fake_node import FakeNode
from tests.collector.sampling import GB, summary
from tests.collector.test_host import write

UID = os.getuid()
V1 = f"freezer/slurm_nid005001/uid_{UID}/job_42/step_batch/freezer.state"
V2 = "system.slice/slurmstepd.scope/job_42/step_batch/user/cgroup.freeze"


def frozen_node(tmp_path: Path, version: int) -> tuple[Path, str, str]:
    """The file in which the freezer says its state, and what it says of a running and of a suspended job."""
    cgroup = tmp_path / "cgroup"
    if version == 2:
        write(cgroup / "system.slice/slurmstepd.scope/job_42/cpu.stat", "usage_usec 1\nuser_usec 1\nsystem_usec 0\n")
        return cgroup / V2, "0\n", "1\n"
    for controller, name in (("memory", "memory.usage_in_bytes"), ("cpuacct", "cpuacct.usage")):
        write(cgroup / f"{controller}/slurm_nid005001/uid_{UID}/job_42/{name}", "1000\n")
    write(cgroup / V1.replace("step_batch", "step_extern"), "THAWED\n")
    return cgroup / V1, "THAWED\n", "FROZEN\n"


@pytest.mark.parametrize("version", [1, 2])
def test_suspended_seconds_are_not_idle(node: FakeNode, make, tmp_path: Path, version: int) -> None:
    state, running, suspended = frozen_node(tmp_path, version)
    write(state, running)
    sampler = make([0, 1], scale=1e5)
    sampler.job["uid"] = UID
    sampler.slow_tick(0.0)
    counts = 0
    for second in range(1, 101):
        is_suspended = 40 < second <= 70
        state.write_text(suspended if is_suspended else running)
        counts += 0 if is_suspended else 80_000
        node.gpus[0].show(0 if is_suspended else 80, GB, busy_acc=counts, stamp=second * 10**8)
        sampler.skip(float(second)) if sampler.host.is_suspended() else sampler.tick(float(second))
        if second % 10 == 0:
            sampler.slow_tick(10.0)
    gpu = summary(sampler)["gpus"][0]
    # 100 s, of which 30 suspended.
    assert (gpu["measured_s"], gpu["idle_s"], gpu["avg_util"]) == (70.0, 0.0, pytest.approx(80.0))
    assert gpu["missing"]["suspended"].startswith("the job was suspended for 30 s")
    assert gpu["timeline"]["util"] == [80] * 20 + [None] * 15 + [80] * 15


def test_without_control_groups_a_job_is_suspended_while_all_its_processes_are_stopped(
    node: FakeNode, make, tmp_path: Path
) -> None:
    sampler = make([0])
    sampler.job["uid"] = UID
    seen = []
    for states in ("SR", "TT", "TT", "TS", "SS"):
        for pid, state in enumerate(states, 1):
            write(tmp_path / f"proc/{pid}/stat", f"{pid} (a) job) {state} 1 1\n")
        sampler.slow_tick(1.0)
        seen.append(sampler.host.is_suspended())
    assert seen == [False, True, True, False, False]


def test_a_freezer_whose_step_ended_leaves_the_job_running(node: FakeNode, make, tmp_path: Path) -> None:
    state, _, suspended = frozen_node(tmp_path, 1)
    write(state, suspended)
    sampler = make([0])
    sampler.job["uid"] = UID
    sampler.slow_tick(0.0)
    assert sampler.host.is_suspended()
    # As a file of a group that is gone: reading it fails.
    os.close(sampler.host.freeze_fd)
    os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    assert not sampler.host.is_suspended()
    assert sampler.host.freeze_fd is None
