"""What the job did to its node's cores and memory: the last good reading of its control group, and peaks."""

from __future__ import annotations

import os
import time

from collector import cgroup
from collector.cgroup import NO_LIMIT_BYTES, SEARCHES_MAX, USER_HZ, JobCgroup

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BYTES_PER_GB = 2**30
NANOSECONDS = 1e9


class HostTotals:
    """Read now and then, since the control group is gone when the job's last step ends."""

    def __init__(self, roots: dict[str, str], job: dict[str, Any], is_whole_node: bool) -> None:
        self.roots, self.job, self.is_whole_node = roots, job, is_whole_node
        self.group: JobCgroup | None = None
        self.searches = 0
        self.values: dict[str, float] = {}
        self.first_iowait_s = self.last_iowait_s = None if not is_whole_node else _iowait_s(roots["proc"])

    def slow_tick(self) -> None:
        if self.is_whole_node:
            self.last_iowait_s = _iowait_s(self.roots["proc"])
        if self.group is None and self.searches < SEARCHES_MAX:
            self.searches += 1
            found = cgroup.find(
                self.roots["cgroup"], self.roots["proc"], self.job["job_id"], self.job["sluid"], self.job["uid"]
            )
            self.group = found
        if self.group is not None:
            self._read(self.group)

    def _read(self, group: JobCgroup) -> None:
        cpu_s = _cpu_seconds(group)
        if not cpu_s:
            return
        self.values.update(cpu_s, read_at_s=time.time())
        self._keep_peak("peak_memory_bytes", _peak_memory_bytes(group))
        self._keep_peak("oom_kills", _oom_kills(group))
        limit = group.number("memory", "memory.max" if group.is_v2 else "memory.limit_in_bytes")
        if limit is not None and limit < NO_LIMIT_BYTES:
            self.values["memory_limit_bytes"] = limit
        for what in ("cpu", "memory", "io"):
            self._keep_peak(f"pressure_{what}_s", group.pressure_s(what))
        ranks, threads = group.tasks()
        self._keep_peak("ranks", ranks)
        self._keep_peak("threads", threads)

    def _keep_peak(self, name: str, value: float | None) -> None:
        if value is not None:
            self.values[name] = max(value, self.values.get(name, 0))

    def state(self) -> dict[str, Any]:
        return {"values": self.values, "iowait": (self.first_iowait_s, self.last_iowait_s)}

    def restore(self, state: dict[str, Any]) -> None:
        self.values = dict(state["values"])
        self.first_iowait_s, self.last_iowait_s = state["iowait"]


def threads_per_core(sysfs: str) -> int:
    """Slurm's CPUs are hardware threads; two make a core where simultaneous multithreading is on."""
    try:
        with open(os.path.join(sysfs, "devices/system/cpu/smt/active"), "rb") as file:
            return 2 if file.read(1) == b"1" else 1
    except OSError:
        return 1


def _cpu_seconds(group: JobCgroup) -> dict[str, float]:
    """Seconds of CPU time in all, in user mode and in the kernel; empty when the group is gone."""
    if group.is_v2:
        stat = group.fields("cpu", "cpu.stat")
        names = {"cpu_s": "usage_usec", "user_s": "user_usec", "system_s": "system_usec"}
        return {name: stat[field] / 1e6 for name, field in names.items()} if "system_usec" in stat else {}
    used_ns, stat = group.number("cpuacct", "cpuacct.usage"), group.fields("cpuacct", "cpuacct.stat")
    if used_ns is None or "system" not in stat:
        return {}
    return {
        "cpu_s": used_ns / NANOSECONDS,
        "user_s": stat["user"] / USER_HZ,
        "system_s": stat["system"] / USER_HZ,
    }


def _peak_memory_bytes(group: JobCgroup) -> int | None:
    """The kernel's own peak, or what is held now where it keeps none (before Linux 5.19)."""
    names = ("memory.peak", "memory.current") if group.is_v2 else ("memory.max_usage_in_bytes",)
    found = (group.number("memory", name) for name in names)
    return next((value for value in found if value is not None), None)


def _oom_kills(group: JobCgroup) -> int | None:
    return group.fields("memory", "memory.events" if group.is_v2 else "memory.oom_control").get("oom_kill")


def _iowait_s(proc: str) -> float | None:
    """Core-seconds the whole node waited for I/O; meaningful for a job that holds the node alone (proc(5))."""
    try:
        with open(os.path.join(proc, "stat"), "rb") as file:
            return int(file.readline().split()[5]) / USER_HZ
    except (OSError, ValueError, IndexError):
        return None
