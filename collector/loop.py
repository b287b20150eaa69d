"""The sampling process of one job on one node: a tick an interval, a checkpoint now and then, until it is to end.

It imports almost nothing, so its size stays close to that of a bare interpreter; the epilog, in a separate process,
converts the collected data into a payload. Its files are in `own/` of the job's folder, which is its working directory,
because it may no longer have the right to enter the folders above.
"""

from __future__ import annotations

import os
import select
import time

from collector import statefile
from collector.calibration import Calibration
from collector.host import HostTotals
from collector.jitter import Jitter
from collector.privilege import give_up_root
from collector.sources.base import Source, SourceError
from collector.sources.choose import source
from collector.sources.cray_pm_counters import CrayCounters
from collector.totals import GpuTotals, Timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from collector.config import Config

GAP_INTERVALS = 2.5
"""A tick later than this leaves a gap: its sample counts for one interval, the rest stays unmeasured."""

STEP_INTERVALS = 2
"""The timeline's first buckets: with up to one and a half intervals between two ticks each has one."""

WAKE_FD = 3
"""Where the prolog passes the job's pipe (`collector.hooks.KEPT_FD`)."""

HANG_AGAIN_S = 1.0
"""How long each further read may take once one of them was cut off."""

# The module `signal` imports `enum`, which would be a tenth of this process's memory.
SIGNALS = __import__("_signal")


class Sampler:
    """Everything measured of one job on one node; `state` contains all of it, so a restart loses at most one
    checkpoint."""

    def __init__(self, config: Config, job: dict[str, Any], found: Source, calibration: Calibration) -> None:
        self.config, self.job, self.source, self.calibration = config, job, found, calibration
        self.interval_s = max(config.interval_s, found.interval_min_s)
        self.gap_after_s = GAP_INTERVALS * self.interval_s
        self.timeline = Timeline([gpu.totals for gpu in found.gpus], STEP_INTERVALS * self.interval_s)
        is_whole_node = bool(job.get("is_whole_node"))
        roots = {"proc": config.proc_root, "cgroup": config.cgroup_root}
        self.host = HostTotals(roots, job, is_whole_node)
        self.cray = CrayCounters(config.pm_counters_root, found.gpus, is_whole_node)
        self.elapsed_s = 0.0
        self.gap_s = self.suspended_s = 0.0
        self.restarts = self.lost_checkpoints = self.hangs = 0
        self.raw = _raw_window(self, job.get("raw_s", 0.0))

    def tick(self, now_s: float) -> None:
        """One sample; `now_s` is seconds since the start of the job on this node."""
        dt_s = now_s - self.elapsed_s
        if dt_s <= 0:
            return
        if dt_s > self.gap_after_s:
            self.gap_s += dt_s - self.interval_s
            dt_s = self.interval_s
            self._advance(now_s - dt_s)
        if now_s > self.timeline.ends_s:
            self._advance(now_s)
        self.source.tick(dt_s)
        self.elapsed_s = now_s
        if self.raw is not None:
            self.source.settle()
            self.raw.add(now_s)

    def skip(self, now_s: float) -> None:
        """The job was suspended since the last tick: that time is neither use nor idle time of its GPUs."""
        dt_s = now_s - self.elapsed_s
        if dt_s <= 0:
            return
        self.source.pause(dt_s)
        self.suspended_s += dt_s
        self.elapsed_s = now_s
        self._advance(now_s)

    def slow_tick(self, dt_s: float) -> None:
        self.source.slow_tick(dt_s)
        self.host.slow_tick(self.elapsed_s)
        self.cray.slow_tick()

    def finish(self, dt_s: float) -> None:
        self.slow_tick(dt_s)
        self.host.finish(self.elapsed_s)
        self.source.settle()
        self.timeline.finish()

    def _advance(self, now_s: float) -> None:
        self.source.settle()
        self.timeline.advance(now_s)

    def state(self) -> dict[str, Any]:
        self.source.settle()
        return {
            "source": self.source.name,
            "interval_s": self.interval_s,
            "elapsed_s": self.elapsed_s,
            "gap_s": self.gap_s,
            "suspended_s": self.suspended_s,
            "restarts": self.restarts,
            "lost_checkpoints": self.lost_checkpoints,
            "hangs": self.hangs,
            "gpus": [gpu.state() for gpu in self.source.gpus],
            "counters": self.source.state(),
            "timeline": self.timeline.state(),
            "host": self.host.state(),
            "cray": self.cray.state(),
            "cray_gpus_j": self.cray.gpu_energies_j(),
            "cray_node_j": self.cray.energy_j("energy"),
            "scale": self.calibration.scale,
            "raw": None if self.raw is None else self.raw.state(),
        }

    def restore(self, state: dict[str, Any], now_s: float) -> None:
        """Continue from a checkpoint; the time since it is a gap."""
        for gpu, before in zip(self.source.gpus, state["gpus"]):
            gpu.totals = GpuTotals.from_state(before["totals"])
        self.timeline = Timeline.from_state([gpu.totals for gpu in self.source.gpus], state["timeline"])
        self.source.restore(state["counters"])
        self.host.restore(state["host"])
        self.cray.restore(state["cray"])
        self.restarts, self.lost_checkpoints = state["restarts"] + 1, state["lost_checkpoints"]
        self.hangs, self.suspended_s = state.get("hangs", 0), state.get("suspended_s", 0.0)
        self.gap_s = state["gap_s"] + max(now_s - state["elapsed_s"], 0.0)
        self.elapsed_s = max(now_s, state["elapsed_s"])
        self.timeline.advance(self.elapsed_s)
        if self.raw is not None:
            self.raw = _raw_window(self, self.job["raw_s"])
            self.raw.restore(state["raw"])


def _raw_window(sampler: Sampler, seconds: float) -> Any:
    """The ring of the last samples if the job has one; few jobs do, so its module is imported by name."""
    if not seconds:
        return None
    totals = [gpu.totals for gpu in sampler.source.gpus]
    return __import__("collector.raw", fromlist=["RawWindow"]).RawWindow(totals, seconds, sampler.interval_s)


def run(config: Config, folder: str) -> None:
    """Sample the job of `folder` until its epilog writes to the `wake` pipe, or the longest walltime has passed."""
    job = statefile.read(f"{folder}/job")
    if job is None:
        return
    wake_fd = _pipe(folder)
    calibration = Calibration.from_state(statefile.read(config.calibration_file))
    os.chdir(f"{folder}/own")
    SIGNALS.signal(SIGNALS.SIGALRM, _cut_off)
    _alarm(Source.hang_s)
    try:
        found = source(config, job["gpus"], calibration)
        sampler = Sampler(config, job, found, calibration)
        if not found.needs_root:
            give_up_root(job.get("run_as"))
    except (SourceError, OSError) as error:
        statefile.save("failed", str(error))
        return
    finally:
        _alarm(0.0)
    started = job["started_boottime_s"]
    before = statefile.read("checkpoint")
    if before is not None:
        sampler.restore(before, _clock() - started)
    if found.is_foreign:
        # An exception cannot interrupt foreign code: such a process ends, and another one continues from its
        # checkpoint.
        SIGNALS.signal(SIGNALS.SIGALRM, SIGNALS.SIG_DFL)
    _sample(sampler, started, wake_fd)


def _sample(sampler: Sampler, started: float, wake_fd: int) -> None:
    """The loop itself. Ticks are an interval apart on average and each at a random time, so that no periodic load is in
    step with them; late ticks are not repeated."""
    config, wait = sampler.config, select.select
    jitter = Jitter(f"{sampler.job['job_id']} {sampler.job['attempt']} {sampler.job['node']}")
    now = slow_before = next_tick = slow_at = checkpoint_at = _clock()
    ends_at = started + config.job_max_s
    is_last = False
    # For a user's own run: once the last of its tasks is gone, nobody else would end this process.
    tasks_file = sampler.job.get("tasks_file")
    tasks = __import__("collector.own_tasks", fromlist=["alone"]) if tasks_file else None
    tasks_fd = os.open(tasks_file, os.O_RDWR | os.O_CLOEXEC) if tasks_file else -1
    while not is_last:
        is_last = bool(wait([wake_fd], [], [], max(next_tick - now, 0.0))[0])
        now = _clock()
        is_last = is_last or now >= ends_at or _is_gone() or (tasks is not None and tasks.alone(tasks_fd))
        _alarm(sampler.source.hang_s)
        try:
            _turn(sampler, now - started)
            if now >= slow_at and not is_last:
                slow_at = now + config.slow_interval_s
                sampler.slow_tick(now - slow_before)
                slow_before = now
            if is_last:
                sampler.finish(now - slow_before)
        except TimeoutError:
            sampler.hangs += 1
        _alarm(0.0)
        if now >= checkpoint_at or is_last:
            checkpoint_at = now + config.checkpoint_s
            _keep(sampler)
        next_tick, now = now + sampler.interval_s * jitter.factor(), _clock()


def _turn(sampler: Sampler, now_s: float) -> None:
    """A tick, and readings of the host that may be needed between two slow ones."""
    if sampler.host.is_suspended():
        sampler.skip(now_s)
    else:
        sampler.tick(now_s)
    if now_s >= sampler.host.due_s:
        sampler.host.slow_tick(now_s)


def _keep(sampler: Sampler) -> None:
    """A checkpoint, and what was learned about the node; a full disk costs the checkpoint, never the sampling."""
    try:
        statefile.save("checkpoint", sampler.state())
        statefile.save("calibration", sampler.calibration.state())
    except OSError:
        sampler.lost_checkpoints += 1


def _pipe(folder: str) -> int:
    """The job's pipe, as the prolog passed it, or opened here."""
    try:
        if os.path.samestat(os.fstat(WAKE_FD), os.stat(f"{folder}/wake")):
            return WAKE_FD
    except OSError:
        pass
    return os.open(f"{folder}/wake", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def _is_gone() -> bool:
    """Whether the job's folder was removed: then nobody will read the measurements."""
    try:
        return os.stat(".").st_nlink == 0
    except OSError:
        return True


def _clock() -> float:
    """Seconds since the boot, by a clock that is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _alarm(seconds: float) -> None:
    """Interrupt whatever hangs after this many seconds; zero: no limit any more."""
    SIGNALS.setitimer(SIGNALS.ITIMER_REAL, seconds, HANG_AGAIN_S if seconds else 0.0)


def _cut_off(number: int, frame: FrameType | None) -> None:
    raise TimeoutError("no answer in time")
