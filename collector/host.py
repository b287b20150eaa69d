"""What the job used of its node's cores and memory: the last good reading of its control group, and peaks."""

from __future__ import annotations

import os

from collector import cgroup
from collector.cgroup import NO_LIMIT_BYTES, JobCgroup
from collector.oom import OomLog

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

USER_HZ = 100
NANOSECONDS = 1e9

SEARCHES_MAX = 60
"""After this many failed searches among the processes a job without a control group is no longer searched for."""

FIRST_READINGS_S = 0.5
READING_FRACTION = 0.1
"""The next reading comes after a tenth of the job's time so far, so its end is missed by no more than that, even in a
short job."""


MEMORY_POINTS_MAX, MEMORY_STEP_S = 60, 60.0
"""An hour by minutes, a day by half-hours: enough to see whether memory grows, in half a kilobyte of a payload."""


class MemoryCourse:
    """Mean memory by bucket of `step_s` from the start of the job; when full, neighbours merge and the step doubles."""

    __slots__ = ("counts", "step_s", "sums")

    def __init__(self) -> None:
        self.step_s = MEMORY_STEP_S
        self.sums: list[float] = []
        self.counts: list[int] = []

    def add(self, at_s: float, used_bytes: float) -> None:
        """One reading, `at_s` seconds after the start; a bucket without any stays a gap."""
        while at_s >= MEMORY_POINTS_MAX * self.step_s:
            self.sums, self.counts, self.step_s = _merged(self.sums), _merged(self.counts), 2 * self.step_s
        place = int(at_s / self.step_s)
        lacking = place + 1 - len(self.sums)
        self.sums += [0.0] * lacking
        self.counts += [0] * lacking
        self.sums[place] += used_bytes
        self.counts[place] += 1

    def state(self) -> dict[str, Any]:
        return {"step_s": self.step_s, "sums": self.sums, "counts": self.counts}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.step_s, self.sums, self.counts = state["step_s"], list(state["sums"]), list(state["counts"])


class HostTotals:
    """Read at intervals, because the control group no longer exists when the job's last step ends. `due_s`: when to
    read next."""

    def __init__(self, roots: dict[str, str], job: dict[str, Any], is_whole_node: bool) -> None:
        self.roots, self.job, self.is_whole_node = roots, job, is_whole_node
        self.group: JobCgroup | None = None
        self.searches = 0
        self.due_s = 0.0
        self.values: dict[str, float] = {}
        self.memory = MemoryCourse()
        self.oom_log = OomLog()
        self.freeze_fd: int | None = None
        self.are_stopped = False
        self.first_iowait_s = self.last_iowait_s = None if not is_whole_node else _iowait_s(roots["proc"])

    def slow_tick(self, elapsed_s: float) -> None:
        """One reading, `elapsed_s` seconds after the start of the job."""
        self.due_s = elapsed_s + max(FIRST_READINGS_S, READING_FRACTION * elapsed_s)
        if self.is_whole_node:
            self.last_iowait_s = _iowait_s(self.roots["proc"])
        if self.group is None:
            self.group = self._found()
        if self.group is not None:
            self._read(self.group, elapsed_s)
        else:
            self.are_stopped = cgroup.are_stopped(self.roots["proc"], self.job["uid"])

    def is_suspended(self) -> bool:
        """Whether Slurm has suspended the job: by its freezer, otherwise, as of the last reading, by its processes."""
        if self.freeze_fd is not None:
            try:
                return os.pread(self.freeze_fd, 8, 0)[:1] in (b"1", b"F")
            except OSError:
                self._let_freezer_go()
        if self.are_stopped:
            self.are_stopped = cgroup.are_stopped(self.roots["proc"], self.job["uid"])
        return self.are_stopped

    def finish(self, elapsed_s: float) -> None:
        """The job is over: read the kernel's log about it."""
        kills, peak_bytes = self.oom_log.kills(self._names())
        if kills:
            self._keep_peak("oom_kills", kills)
            self._keep_peak("peak_memory_bytes", peak_bytes)
            self.values.setdefault("elapsed_s", elapsed_s)

    def _found(self) -> JobCgroup | None:
        job_id, sluid, uid = self.job["job_id"], self.job["sluid"], self.job["uid"]
        found = cgroup.at_usual_place(self.roots["cgroup"], job_id, sluid, uid)
        if found is None and self.searches < SEARCHES_MAX:
            self.searches += 1
            found = cgroup.by_processes(self.roots["cgroup"], self.roots["proc"], job_id, sluid, uid)
        return found

    def _names(self) -> list[str]:
        return [f"job_{self.job['job_id']}", *([self.job["sluid"]] if self.job["sluid"] else [])]

    def _read(self, group: JobCgroup, elapsed_s: float) -> None:
        cpu_s = _cpu_seconds(group)
        if cpu_s:
            self.values.update(cpu_s)
        if not group.is_there:
            return
        self.values["elapsed_s"] = elapsed_s
        self._keep_peak("peak_memory_bytes", _peak_memory_bytes(group))
        anon_bytes = _anon_bytes(group)
        self._keep_peak("peak_memory_anon_bytes", anon_bytes)
        if anon_bytes is not None:
            self.memory.add(elapsed_s, anon_bytes)
        self._keep_peak("oom_kills", group.oom_kills())
        limit = group.number("memory", "memory.max" if group.is_v2 else "memory.limit_in_bytes")
        if limit is not None and limit < NO_LIMIT_BYTES:
            self.values["memory_limit_bytes"] = limit
        for what in ("cpu", "memory", "io"):
            self._keep_peak(f"pressure_{what}_s", group.pressure_s(what))
        ranks, threads = group.tasks()
        self._keep_peak("ranks", ranks)
        self._keep_peak("threads", threads)
        if self.freeze_fd is None:
            self._hold_freezer(group)

    def _hold_freezer(self, group: JobCgroup) -> None:
        path = group.freeze_file()
        try:
            self.freeze_fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path else None
        except OSError:
            self.freeze_fd = None

    def _let_freezer_go(self) -> None:
        """Its step has ended; the next reading looks for another step's group."""
        if self.freeze_fd is not None:
            os.close(self.freeze_fd)
        self.freeze_fd = None

    def _keep_peak(self, name: str, value: float | None) -> None:
        if value is not None:
            self.values[name] = max(value, self.values.get(name, 0))

    def state(self) -> dict[str, Any]:
        iowait = (self.first_iowait_s, self.last_iowait_s)
        return {"values": self.values, "iowait": iowait, "memory": self.memory.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.values = dict(state["values"])
        self.first_iowait_s, self.last_iowait_s = state["iowait"]
        if "memory" in state:  # a collector of the previous version wrote none
            self.memory.restore(state["memory"])


def _merged(values: list[Any]) -> list[Any]:
    """Neighbours added, the last one alone where it has none."""
    return [sum(values[place : place + 2]) for place in range(0, len(values), 2)]


def threads_per_core(sysfs: str) -> int:
    """Slurm's CPUs are hardware threads; two are one core if simultaneous multithreading is on."""
    return 2 if cgroup.content(os.path.join(sysfs, "devices/system/cpu/smt/active"))[:1] == "1" else 1


def _cpu_seconds(group: JobCgroup) -> dict[str, float]:
    """Seconds of CPU time in all, in user mode and in the kernel; empty if the group no longer exists."""
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
    """The kernel's own peak, or the present value if it keeps none (before Linux 5.19)."""
    names = ("memory.peak", "memory.current") if group.is_v2 else ("memory.max_usage_in_bytes",)
    found = (group.number("memory", name) for name in names)
    return next((value for value in found if value is not None), None)


def _anon_bytes(group: JobCgroup) -> int | None:
    """Memory used by the job now, without files' cached pages: its own and shared; None if they are not
    distinguished."""
    stat = group.fields("memory", "memory.stat")
    own, shared = ("anon", "shmem") if group.is_v2 else ("total_rss", "total_shmem")
    return stat[own] + stat.get(shared, 0) if own in stat else None


def _iowait_s(proc: str) -> float | None:
    """Core-seconds the whole node waited for I/O; meaningful only if the job has the node exclusively (proc(5))."""
    try:
        return int(cgroup.content(os.path.join(proc, "stat")).partition("\n")[0].split()[5]) / USER_HZ
    except (ValueError, IndexError):
        return None
