"""The host side of jobs that are short, killed for want of memory, or on a node whose clock is set."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector.host import HostTotals
from collector.oom import OomLog
from collector.summary import node_summary
from tests.collector.fake_node import FakeNode
from tests.collector.sampling import GB, START, job, summary
from tests.collector.test_host import v2, write

UID = os.getuid()

# Captured from Linux 6.18 under Slurm 22.05 (version 1 control groups), a job of --mem=256.
KILLED = """\
4,352,3548324050,-;python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
6,379,3548324218,-;memory: usage 262144kB, limit 262144kB, failcnt 29
6,430,3548324267,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,\
oom_memcg=/slurm_nid007001/uid_1001/job_{job},task_memcg=/slurm_nid007001/uid_1001/job_{job}/step_batch/task_0,\
task={task},pid=13650,uid=1001
3,431,3548324282,-;Memory cgroup out of memory: Killed process 13650 (python3) total-vm:276060kB, anon-rss:260864kB
"""


def kills_in(tmp_path: Path, records: list[str], marks: list[str]) -> tuple[int, int]:
    """Each record alone, as a read of the kernel's log gives it."""
    log = OomLog(str(tmp_path / "nothing"))
    lines = [line for record in records for line in log.lines_of(record.encode())]
    return log.counted(lines, marks)


def test_a_kill_is_read_from_the_kernels_log_with_the_memory_then(tmp_path: Path) -> None:
    records = KILLED.format(job=42, task="python3").splitlines(keepends=True)
    assert kills_in(tmp_path, records, ["job_42"]) == (1, 2**28)
    assert kills_in(tmp_path, records, ["job_4"]) == (0, 0)
    assert kills_in(tmp_path, records * 3, ["job_42"]) == (3, 2**28)


def test_a_process_that_calls_itself_like_a_field_is_not_believed(tmp_path: Path) -> None:
    named = KILLED.format(job=7, task="x,task_memcg=/job_42/").splitlines(keepends=True)
    assert kills_in(tmp_path, named, ["job_42"]) == (0, 0)
    # A line that a process wrote to the log has a facility of its own: 12 is 8 + 4.
    written = ["1" + KILLED.format(job=42, task="python3").splitlines()[2].replace("6,430", "2,430")]
    assert kills_in(tmp_path, written, ["job_42"]) == (0, 0)


@pytest.mark.needs("the kernel's log")
def test_the_log_of_this_kernel_can_be_read_from_now_on() -> None:
    log = OomLog()
    assert log.fd is not None
    assert log.kills(["job_0"]) == (0, 0)
    log.close()


def test_kills_below_the_job_are_summed_in_version_1(tmp_path: Path) -> None:
    folder = f"slurm/uid_{UID}/job_42"
    root = tmp_path / "cgroup"
    for below, kills in (("", 0), ("/step_batch", 0), ("/step_batch/task_0", 1), ("/step_0/task_3", 2)):
        text = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
        write(root / f"memory/{folder}{below}/memory.oom_control", text)
    write(root / f"memory/{folder}/memory.max_usage_in_bytes", f"{2**30}\n")
    host = HostTotals({"proc": str(tmp_path / "proc"), "cgroup": str(root)}, on_node(), is_whole_node=False)
    host.slow_tick(3.0)
    # Found where Slurm puts it, without any process.
    assert (host.values["oom_kills"], host.values["peak_memory_bytes"]) == (3, 2**30)


def on_node() -> dict:
    return {"job_id": 42, "sluid": "", "uid": UID}


def test_memory_without_cached_pages_is_beside_the_total(tmp_path: Path) -> None:
    roots = v2(tmp_path, "system.slice/slurmstepd.scope/job_42")
    group = tmp_path / "cgroup/system.slice/slurmstepd.scope/job_42"
    host = HostTotals(roots, on_node(), is_whole_node=False)
    for anon, shmem in ((2, 1), (5, 1), (1, 0)):
        write(group / "memory.stat", f"anon {anon * GB}\nfile {7 * GB}\nshmem {shmem * GB}\n")
        host.slow_tick(1.0)
    assert (host.values["peak_memory_bytes"], host.values["peak_memory_anon_bytes"]) == (8 * GB, 6 * GB)


def test_readings_follow_one_another_at_a_tenth_of_the_jobs_time() -> None:
    host = HostTotals({"proc": "/nowhere", "cgroup": "/nowhere"}, on_node(), is_whole_node=False)
    due = []
    for elapsed_s in (0.0, 1.0, 4.0, 50.0):
        host.slow_tick(elapsed_s)
        due.append(host.due_s)
    assert due == [0.5, 1.5, 4.5, 55.0]


def test_a_clock_that_is_set_changes_no_share(node: FakeNode, make, tmp_path: Path, monkeypatch) -> None:
    shown = {}
    for step_s in (0.0, -86400.0, 86400.0):
        group = tmp_path / "cgroup/system.slice/slurmstepd.scope/job_42"
        write(group / "cpu.stat", "usage_usec 560000000\nuser_usec 504000000\nsystem_usec 56000000\n")
        monkeypatch.setattr("time.time", lambda step_s=step_s: START + step_s)
        sampler = make()
        sampler.tick(100.0)
        shown[step_s] = summary(sampler)["cpu"]
    assert shown[0.0]["busy_cores_avg"] == 5.6
    assert shown[-86400.0] == shown[86400.0] == shown[0.0]


def test_a_short_job_says_why_it_has_no_numbers_and_one_without_a_group_another_reason(node: FakeNode, make) -> None:
    reasons = []
    for seconds in (3.0, 60.0):
        sampler = make()
        sampler.tick(seconds)
        reasons.append(summary(sampler)["cpu"]["missing"]["cpu"])
    assert reasons == [
        "the job ended before its control group was read",
        "the job has no control group on this node",
    ]


def test_a_value_that_cannot_be_is_left_out_by_name(node: FakeNode, make) -> None:
    sampler = make()
    sampler.tick(1.0)
    state = sampler.state()
    state["host"]["values"] = {"elapsed_s": 1.0, "peak_memory_bytes": 2.0**60, "oom_kills": -1, "pressure_io_s": 2.0}
    state["gpus"][0]["totals"].update(temperature_peak_c=4000, energy_j=3e13)
    payload = node_summary(job(), state, START + 1, [])
    assert payload["cpu"]["pressure_io_s"] == 2.0
    assert payload["cpu"]["missing"]["peak_memory_gb"] == "impossible: 1.07374e+09"
    assert payload["cpu"]["missing"]["oom_kills"] == "impossible: -1"
    assert not {"peak_memory_gb", "oom_kills"} & payload["cpu"].keys()
    gpu = payload["gpus"][0]
    assert (gpu["missing"]["temperature_peak_c"], gpu["missing"]["energy_j"]) == (
        "impossible: 4000",
        "impossible: 3e+13",
    )
    assert gpu["avg_util"] == 0.0
