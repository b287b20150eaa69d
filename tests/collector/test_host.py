"""The host side: control groups of both versions, Slurm's ids or SLUIDs in their paths, Cray's energy counters."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from collector import cgroup
from collector.host import HostTotals, MemoryCourse, threads_per_core
from collector.sources.base import Gpu
from collector.sources.cray_pm_counters import CrayCounters

UID = os.getuid()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def job(sluid: str = "") -> dict:
    return {"job_id": 42, "sluid": sluid, "uid": UID}


def v2(tmp_path: Path, folder: str) -> dict[str, str]:
    """A version 2 tree with one job of two ranks, and one process in it."""
    group = tmp_path / "cgroup" / folder
    write(group / "cpu.stat", "usage_usec 60000000\nuser_usec 50000000\nsystem_usec 10000000\nnr_periods 0\n")
    write(group / "memory.peak", f"{8 * 2**30}\n")
    write(group / "memory.max", "max\n")
    write(group / "memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n")
    for what, total in (("cpu", 1_000_000), ("memory", 0), ("io", 12_500_000)):
        write(group / f"{what}.pressure", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={total}\nfull total=0\n")
    for task in (0, 1):
        write(group / f"step_0/user/task_{task}/cgroup.threads", "1\n2\n3\n")
    write(group / "step_batch/user/task_special/cgroup.threads", "9\n")
    write(tmp_path / "proc/123/cgroup", f"0::/{folder}/step_0/user/task_0\n")
    write(tmp_path / "proc/77/cgroup", "0::/system.slice/sshd.service\n")
    return {"proc": str(tmp_path / "proc"), "cgroup": str(tmp_path / "cgroup")}


@pytest.mark.parametrize(
    ("folder", "sluid"),
    [
        ("system.slice/slurmstepd.scope/job_42", ""),
        ("system.slice/nid001_slurmstepd.scope/job_42", ""),
        ("system.slice/slurmstepd.scope/s5K1KKYAYG5D00", "s5K1KKYAYG5D00"),
    ],
)
def test_version_2_is_read_whole(tmp_path: Path, folder: str, sluid: str) -> None:
    host = HostTotals(v2(tmp_path, folder), job(sluid), is_whole_node=False)
    host.slow_tick(100.0)
    values = host.values
    assert (values["cpu_s"], values["user_s"], values["system_s"]) == (60.0, 50.0, 10.0)
    assert (values["peak_memory_bytes"], values["oom_kills"]) == (8 * 2**30, 2)
    assert "memory_limit_bytes" not in values
    assert (values["pressure_cpu_s"], values["pressure_memory_s"], values["pressure_io_s"]) == (1.0, 0.0, 12.5)
    assert (values["ranks"], values["threads"]) == (2, 6)


def test_another_job_of_the_same_user_is_not_taken_for_this_one(tmp_path: Path) -> None:
    roots = v2(tmp_path, "system.slice/slurmstepd.scope/job_421")
    for job_id, uid, is_found in ((42, UID, False), (421, UID + 1, False), (421, UID, True)):
        found = cgroup.by_processes(roots["cgroup"], roots["proc"], job_id, "", uid)
        assert (found is not None) == is_found
    assert cgroup.at_usual_place(roots["cgroup"], 42, "", UID) is None


def test_version_1_has_a_folder_for_each_controller_and_no_pressure(tmp_path: Path) -> None:
    folder = "slurm/uid_1000/job_42"
    root = tmp_path / "cgroup"
    write(root / f"cpuacct/{folder}/cpuacct.usage", "60000000000\n")
    write(root / f"cpuacct/{folder}/cpuacct.stat", "user 5000\nsystem 1000\n")
    write(root / f"memory/{folder}/memory.max_usage_in_bytes", f"{2**30}\n")
    write(root / f"memory/{folder}/memory.limit_in_bytes", f"{4 * 2**30}\n")
    write(root / f"memory/{folder}/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    write(root / f"memory/{folder}/step_0/task_0/tasks", "1\n2\n")
    lines = f"5:cpuacct:/{folder}/step_0\n4:memory:/{folder}/step_0/task_0\n1:name=systemd:/system.slice\n"
    write(tmp_path / "proc/123/cgroup", lines)
    host = HostTotals({"proc": str(tmp_path / "proc"), "cgroup": str(root)}, job(), is_whole_node=False)
    host.slow_tick(100.0)
    values = host.values
    assert (values["cpu_s"], values["user_s"], values["system_s"]) == (60.0, 50.0, 10.0)
    assert (values["peak_memory_bytes"], values["memory_limit_bytes"], values["oom_kills"]) == (2**30, 2**32, 1)
    assert (values["ranks"], values["threads"]) == (1, 2)
    assert "pressure_io_s" not in values


def test_a_group_that_is_only_half_made_is_never_taken_for_the_whole_machines(tmp_path: Path) -> None:
    """Slurm makes a job's groups one after the other: its memory is there, its CPU time comes a moment later."""
    folder = f"slurm_nid005001/uid_{UID}/job_42"
    root = tmp_path / "cgroup"
    write(root / f"memory/{folder}/memory.max_usage_in_bytes", f"{2**30}\n")
    write(root / "cpuacct/cpuacct.usage", "1400000000000\n")
    write(root / "cpuacct/cpuacct.stat", "user 100000\nsystem 40000\n")
    host = HostTotals({"proc": str(tmp_path / "proc"), "cgroup": str(root)}, job(), is_whole_node=False)
    host.slow_tick(0.1)
    assert host.values["peak_memory_bytes"] == 2**30
    assert "cpu_s" not in host.values
    write(root / f"cpuacct/{folder}/cpuacct.usage", "2000000000\n")
    write(root / f"cpuacct/{folder}/cpuacct.stat", "user 150\nsystem 50\n")
    host.slow_tick(2.0)
    assert (host.values["cpu_s"], host.values["user_s"], host.values["system_s"]) == (2.0, 1.5, 0.5)


def test_the_batch_script_that_starts_ranks_is_none_of_them(tmp_path: Path) -> None:
    """It has a task of its own in Slurm's groups, which is a rank only where the script itself does the work."""
    folder = f"slurm_nid005001/uid_{UID}/job_42"
    root = tmp_path / "cgroup"
    write(root / f"memory/{folder}/step_batch/task_0/tasks", "1\n2\n")
    host = HostTotals({"proc": str(tmp_path / "proc"), "cgroup": str(root)}, job(), is_whole_node=False)
    host.slow_tick(1.0)
    assert (host.values["ranks"], host.values["threads"]) == (1, 2)
    for step, task in ((0, 0), (0, 1), (0, 2), (1, 0)):
        write(root / f"memory/{folder}/step_{step}/task_{task}/tasks", "3\n4\n5\n")
    host.slow_tick(2.0)
    assert (host.values["ranks"], host.values["threads"]) == (4, 12)


def test_the_last_good_reading_stays_when_the_group_is_gone(tmp_path: Path) -> None:
    roots = v2(tmp_path, "system.slice/slurmstepd.scope/job_42")
    host = HostTotals(roots, job(), is_whole_node=False)
    host.slow_tick(100.0)
    for file in (tmp_path / "cgroup").rglob("*"):
        if file.is_file():
            file.unlink()
    host.slow_tick(100.0)
    assert host.values["cpu_s"] == 60.0


def test_waiting_for_io_is_known_of_whole_nodes_only(tmp_path: Path) -> None:
    write(tmp_path / "proc/stat", "cpu  1 2 3 4 500 6 7 8 9 10\n")
    roots = {"proc": str(tmp_path / "proc"), "cgroup": str(tmp_path)}
    host = HostTotals(roots, job(), is_whole_node=True)
    write(tmp_path / "proc/stat", "cpu  1 2 3 4 900 6 7 8 9 10\n")
    host.slow_tick(100.0)
    # 400 hundredths of a second.
    assert (host.first_iowait_s, host.last_iowait_s) == (5.0, 9.0)
    assert HostTotals(roots, job(), is_whole_node=False).first_iowait_s is None


def test_a_core_is_two_threads_where_smt_is_on(tmp_path: Path) -> None:
    assert threads_per_core(str(tmp_path)) == 1
    write(tmp_path / "devices/system/cpu/smt/active", "1\n")
    assert threads_per_core(str(tmp_path)) == 2


def package(index: int) -> Gpu:
    gpu = Gpu(index, module_id=index // 2)
    gpu.power_from = "module" if index % 2 == 0 else ""
    return gpu


def test_cray_counters_give_joules_of_whole_packages_and_of_the_node(tmp_path: Path) -> None:
    def show(accel1_j: int, node_j: int) -> None:
        write(tmp_path / "accel1_energy", f"{accel1_j} J 1784929200361701 us\n")
        write(tmp_path / "energy", f"{node_j} J 1784929200361701 us\n")

    cray = CrayCounters(str(tmp_path), [package(2), package(3)], is_whole_node=True)
    # Package 1: 100 J, then a reset, then 30 J more.
    for accel1_j, node_j in ((1000, 5000), (1100, 5500), (0, 5900), (30, 6000)):
        show(accel1_j, node_j)
        cray.slow_tick()
    assert cray.gpu_energies_j() == {2: 130.0}
    assert cray.energy_j("energy") == 1000.0
    assert CrayCounters(str(tmp_path / "no"), [package(2)], is_whole_node=False).gpu_energies_j() == {}


def course(readings: list[tuple[float, float]]) -> MemoryCourse:
    made = MemoryCourse()
    for at_s, used_bytes in readings:
        made.add(at_s, used_bytes)
    return made


def test_memory_over_time_is_the_mean_of_each_minute_and_a_gap_where_nothing_was_read() -> None:
    made = course([(5.0, 10.0), (59.9, 30.0), (60.0, 50.0), (185.0, 70.0)])
    assert (made.step_s, made.sums, made.counts) == (60.0, [40.0, 50.0, 0.0, 70.0], [2, 1, 0, 1])


def test_memory_over_time_never_has_more_than_sixty_buckets() -> None:
    # A reading a minute: after the 61st the minutes merge in pairs, the last one alone.
    made = course([(60.0 * minute, float(minute)) for minute in range(61)])
    assert (made.step_s, len(made.sums)) == (120.0, 31)
    assert (made.sums[:2], made.sums[-1], made.counts[0], made.counts[-1]) == ([1.0, 5.0], 60.0, 2, 1)
    # Three days later: 259,200 s need buckets of 7,680 s (60 x 3,840 = 230,400 are too few), 33 of them and one more.
    made.add(259_200.0, 1.0)
    assert (made.step_s, len(made.sums), sum(made.counts)) == (7680.0, 34, 62)


def test_memory_over_time_goes_on_after_a_restart_also_from_an_older_checkpoint(tmp_path: Path) -> None:
    roots = v2(tmp_path, "system.slice/slurmstepd.scope/job_42")
    group = tmp_path / "cgroup/system.slice/slurmstepd.scope/job_42"
    write(group / "memory.stat", "anon 100\nshmem 20\nfile 5000\n")
    first = HostTotals(roots, job(), is_whole_node=False)
    first.slow_tick(30.0)
    state = first.state()
    assert state["memory"] == {"step_s": 60.0, "sums": [120.0], "counts": [1]}
    for kept, expected in ((state, [1, 1]), ({name: state[name] for name in ("values", "iowait")}, [0, 1])):
        again = HostTotals(roots, job(), is_whole_node=False)
        again.restore(kept)
        again.slow_tick(90.0)
        assert again.memory.counts == expected
