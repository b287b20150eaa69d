"""A GPU whose work has a rhythm, sampled by the real sampler without waiting for time to pass."""

from __future__ import annotations

from pathlib import Path

from collector.calibration import Calibration
from collector.jitter import Jitter
from collector.loop import Sampler
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from collector.summary import node_summary
from tests.collector.fake_node import FakeNode
from tests.collector.sampling import START, config_of, job

SLOW_S = 10.0


class Rhythm:
    """Busy for `busy_s` of every `period_s` seconds, from `phase` periods on; its accumulator counts `scale` a busy
    second."""

    def __init__(self, folder: Path, period_s: float, busy_s: float, phase: float = 0.0, scale: float = 1e5) -> None:
        self.period_s, self.work_s, self.phase, self.scale = period_s, busy_s, phase, scale
        self.config = config_of(folder)
        self.gpu = FakeNode(Path(self.config.sysfs_root), gpus=1).gpus[0]
        self._show(0.0)

    def busy_s(self, now_s: float) -> float:
        """Busy seconds from the zero of the rhythm to `now_s`."""
        periods, rest = divmod(now_s / self.period_s + self.phase, 1.0)
        return periods * self.work_s + min(rest * self.period_s, self.work_s)

    def sample(self, seconds: float, calibration: Calibration, *, has_jitter: bool = True) -> dict:
        """The summary of the GPU after sampling it for so long, from an accumulator that the calibration learns."""
        source = AmdgpuSysfs(self.config.sysfs_root, [0], calibration)
        sampler = Sampler(self.config, job([0]), source, calibration)
        jitter = Jitter(f"{self.period_s} {self.phase}")
        now_s = slow_s = 0.0
        while now_s < seconds:
            now_s += jitter.factor() if has_jitter else 1.0
            self._show(now_s)
            sampler.tick(now_s)
            if now_s - slow_s >= SLOW_S:
                source.slow_tick(now_s - slow_s)
                slow_s = now_s
        source.slow_tick(now_s - slow_s)
        (gpu,) = node_summary(sampler.job, sampler.state(), START + now_s, [])["gpus"]
        return gpu

    def _show(self, now_s: float) -> None:
        rest_s = (now_s / self.period_s + self.phase) % 1.0 * self.period_s
        counts = int(self.scale * self.busy_s(now_s)) % 2**32
        self.gpu.show(100 if rest_s < self.work_s else 0, busy_acc=counts, stamp=int(now_s * 1e8) + 1)
