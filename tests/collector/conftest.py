"""A made-up node and samplers of its GPUs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from collector.calibration import Calibration
from collector.loop import Sampler
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from tests.collector.fake_node import FakeNode
from tests.collector.sampling import config_of, job


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path / "sys")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Sampler]:
    """A sampler of the made-up node's GPUs, and how often it ticks."""

    def made(gpus: range | list[int] = range(8), interval_s: float = 1.0, scale: float | None = None) -> Sampler:
        config = config_of(tmp_path)
        config.interval_s = interval_s
        calibration = Calibration(scale)
        return Sampler(config, job(gpus), AmdgpuSysfs(config.sysfs_root, list(gpus), calibration), calibration)

    return made
