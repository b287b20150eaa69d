"""The sampling process of one job on one node: a tick an interval, now and then a checkpoint, until it is told to end.

It imports next to nothing, so that it stays near the size of a bare interpreter; what it gathered is turned into a
payload by the epilog, in a process of its own.
"""

from __future__ import annotations

import os
import select
import time

from collector import statefile
from collector.calibration import Calibration
from collector.host import HostTotals
from collector.sources.base import Source, SourceError
from collector.sources.choose import source
from collector.sources.cray_pm_counters import CrayCounters
from collector.totals import GpuTotals, Timeline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from collector.config import Config

GAP_INTERVALS = 2.5
"""A tick later than this leaves a gap: its sample stands for one interval, the rest stays unmeasured."""


class Sampler:
    """Everything measured of one job on one node; `state` holds all of it, so that a restart loses one checkpoint."""

    def __init__(self, config: Config, job: dict[str, Any], found: Source, calibration: Calibration) -> None:
        self.config, self.job, self.source, self.calibration = config, job, found, calibration
        self.interval_s = max(config.interval_s, found.interval_min_s)
        self.gap_after_s = GAP_INTERVALS * self.interval_s
        self.timeline = Timeline([gpu.totals for gpu in found.gpus], self.interval_s)
        is_whole_node = bool(job.get("is_whole_node"))
        roots = {"proc": config.proc_root, "cgroup": config.cgroup_root}
        self.host = HostTotals(roots, job, is_whole_node)
        self.cray = CrayCounters(config.pm_counters_root, found.gpus, is_whole_node)
        self.elapsed_s = 0.0
        self.gap_s = 0.0
        self.restarts = self.lost_checkpoints = 0

    def tick(self, now_s: float) -> None:
        """One sample; `now_s` is seconds since the start of the job on this node."""
        dt_s = now_s - self.elapsed_s
        if dt_s <= 0:
            return
        if dt_s > self.gap_after_s:
            self.gap_s += dt_s - self.interval_s
            dt_s = self.interval_s
            self.timeline.advance(now_s - dt_s)
        self.source.tick(dt_s)
        self.elapsed_s = now_s
        if now_s >= self.timeline.ends_s:
            self.timeline.advance(now_s)

    def slow_tick(self, dt_s: float) -> None:
        self.source.slow_tick(dt_s)
        self.host.slow_tick()
        self.cray.slow_tick()

    def finish(self, dt_s: float) -> None:
        self.slow_tick(dt_s)
        self.timeline.finish()

    def state(self) -> dict[str, Any]:
        return {
            "source": self.source.name,
            "interval_s": self.interval_s,
            "elapsed_s": self.elapsed_s,
            "gap_s": self.gap_s,
            "restarts": self.restarts,
            "lost_checkpoints": self.lost_checkpoints,
            "gpus": [gpu.state() for gpu in self.source.gpus],
            "counters": self.source.state(),
            "timeline": self.timeline.state(),
            "host": self.host.state(),
            "cray": self.cray.state(),
            "cray_gpus_j": self.cray.gpu_energies_j(),
            "cray_node_j": self.cray.energy_j("energy"),
            "scale": self.calibration.scale,
        }

    def restore(self, state: dict[str, Any], now_s: float) -> None:
        """Go on from a checkpoint; the time since it is a gap."""
        for gpu, before in zip(self.source.gpus, state["gpus"]):
            gpu.totals = GpuTotals.from_state(before["totals"])
        self.timeline = Timeline.from_state([gpu.totals for gpu in self.source.gpus], state["timeline"])
        self.source.restore(state["counters"])
        self.host.restore(state["host"])
        self.cray.restore(state["cray"])
        self.restarts, self.lost_checkpoints = state["restarts"] + 1, state["lost_checkpoints"]
        self.gap_s = state["gap_s"] + max(now_s - state["elapsed_s"], 0.0)
        self.elapsed_s = max(now_s, state["elapsed_s"])
        self.timeline.advance(self.elapsed_s)


def run(config: Config, folder: str) -> None:
    """Sample the job of `folder` until its epilog writes to the `wake` pipe, or the longest walltime has passed."""
    job = statefile.read(f"{folder}/job")
    if job is None:
        return
    wake_fd = os.open(f"{folder}/wake", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    calibration = Calibration.from_state(statefile.read(config.calibration_file) or Calibration().state())
    try:
        found = source(config, job["gpus"], calibration)
    except SourceError as error:
        statefile.save(f"{folder}/failed", str(error))
        os.unlink(f"{folder}/wake")
        return
    sampler = Sampler(config, job, found, calibration)
    started = job["started_monotonic_s"]
    before = statefile.read(f"{folder}/checkpoint")
    if before is not None:
        sampler.restore(before, time.monotonic() - started)
    _sample(sampler, folder, started, wake_fd)
    os.unlink(f"{folder}/wake")


def _sample(sampler: Sampler, folder: str, started: float, wake_fd: int) -> None:
    """The loop itself: ticks on a fixed grid, so that they never drift; late ones are skipped, not made up for."""
    config, interval_s, wait, clock = sampler.config, sampler.interval_s, select.select, time.monotonic
    next_tick = clock()
    slow_at = checkpoint_at = next_tick
    slow_before = next_tick
    ends_at = started + config.job_max_s
    is_last = False
    while not is_last:
        now = clock()
        if now < next_tick:
            is_last = bool(wait([wake_fd], [], [], next_tick - now)[0])
            now = clock()
        is_last = is_last or now >= ends_at
        sampler.tick(now - started)
        next_tick += interval_s * (1 + max(0, (now - next_tick) // interval_s))
        if now >= slow_at and not is_last:
            sampler.slow_tick(now - slow_before)
            slow_before, slow_at = now, now + config.slow_interval_s
        if now >= checkpoint_at and not is_last:
            _keep(sampler, folder)
            checkpoint_at = now + config.checkpoint_s
    sampler.finish(clock() - slow_before)
    _keep(sampler, folder)


def _keep(sampler: Sampler, folder: str) -> None:
    """A checkpoint, and what was learned of the node; a full disk costs the checkpoint, never the sampling."""
    try:
        statefile.save(f"{folder}/checkpoint", sampler.state())
        statefile.save(sampler.config.calibration_file, sampler.calibration.state())
    except OSError:
        sampler.lost_checkpoints += 1
