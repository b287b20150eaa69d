"""Counters of the GPU and of its package: resets, wraps, and energy from the first second."""

from __future__ import annotations

import marshal
from pathlib import Path

import pytest

from collector import statefile
from collector.calibration import Calibration
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from tests.collector.fake_node import MI210, FakeNode
from tests.collector.sampling import GB, summary

JOULE = 65536


def source(node: FakeNode, scale: float | None = None) -> AmdgpuSysfs:
    return AmdgpuSysfs(str(node.root), [0, 1], Calibration(scale))


@pytest.mark.parametrize("has_stamp", [True, False])
def test_a_reset_of_the_gpu_drops_its_interval_of_the_accumulator(node: FakeNode, make, has_stamp: bool) -> None:
    node.gpus[0].show(40, GB, busy_acc=4_000_000_000, stamp=2**33 if has_stamp else 2**64 - 1)
    sampler = make([0, 1], scale=1e5)
    # 40 % busy: 40,000 counts a second of 1e8 stamps. The reset at 50 s sets everything back to zero.
    for second in range(1, 101):
        since = second if second < 50 else second - 50
        stamp = {"stamp": since * 10**8 + 2**33} if has_stamp else {"stamp": 2**64 - 1}
        node.gpus[0].show(40, GB, busy_acc=4_000_000_000 * (second < 50) + since * 40_000, **stamp)
        sampler.tick(float(second))
        if second % 5 == 0:
            sampler.source.slow_tick(5.0)
    gpu = summary(sampler)["gpus"][0]
    assert (gpu["avg_util"], gpu["util_source"]) == (40.0, "accumulator")
    assert "left out" in gpu["missing"]["counters"]


def test_a_wrap_of_the_accumulator_is_no_reset(node: FakeNode, make) -> None:
    node.gpus[0].show(40, GB, busy_acc=2**32 - 2_000_000, stamp=1)
    sampler = make([0, 1], scale=1e5)
    for second in range(1, 101):
        node.gpus[0].show(40, GB, busy_acc=(2**32 - 2_000_000 + second * 40_000) % 2**32, stamp=second * 10**8)
        sampler.tick(float(second))
        if second % 5 == 0:
            sampler.source.slow_tick(5.0)
    gpu = summary(sampler)["gpus"][0]
    assert (gpu["avg_util"], gpu["util_source"]) == (40.0, "accumulator")
    assert "counters" not in gpu["missing"]


def test_energy_counts_from_the_moment_the_sampler_is_there(node: FakeNode, make) -> None:
    for gpu in node.gpus:
        gpu.show(90, GB, 300, stamp=1, energy=gpu.energy)
    sampler = make()
    for second in range(1, 7):
        for gpu in node.gpus:
            gpu.show(90, GB, 300, stamp=second + 1, energy=gpu.energy and gpu.energy + second * 300 * JOULE)
        sampler.tick(float(second))
    gpu = summary(sampler)["gpus"][0]
    # 6 s of 300 W without a slow tick but the last: 1800 J, not 5/6 of them.
    assert gpu["energy_j"] == 1800.0


def test_energy_of_a_counter_of_32_bits_counts_on_when_it_wraps(tmp_path: Path) -> None:
    node = FakeNode(tmp_path, gpus=1, device=MI210)
    node.gpus[0].show(50, energy=2**32 - 100 * JOULE, stamp=1)
    found = AmdgpuSysfs(str(node.root), [0], Calibration())
    for second, joules in enumerate((200, 500, 800), 1):
        node.gpus[0].show(50, energy=(2**32 - 100 * JOULE + joules * JOULE) % 2**32, stamp=second + 1)
        found.slow_tick(1.0)
    assert found.gpus[0].totals.energy_j == pytest.approx(800.0)


def test_energy_that_no_gpu_can_draw_is_a_reset(tmp_path: Path) -> None:
    node = FakeNode(tmp_path, gpus=1, device=MI210)
    node.gpus[0].show(50, energy=1 << 41, stamp=1)
    found = AmdgpuSysfs(str(node.root), [0], Calibration())
    # 300 J, then a counter that begins anew far above, then 300 J.
    for second, energy in enumerate((2**41 + 300 * JOULE, 2**45, 2**45 + 300 * JOULE), 1):
        node.gpus[0].show(50, energy=energy, stamp=second + 1)
        found.slow_tick(1.0)
    assert found.gpus[0].totals.energy_j == pytest.approx(600.0)
    assert "reset" in found.gpus[0].totals.reasons["counters"]


def test_mean_power_is_that_of_the_energy_which_sees_what_lies_between_samples(node: FakeNode, make) -> None:
    sampler = make([0, 1])
    for second in range(1, 11):
        # Every sample meets 500 W, and the counter says 200 J a second.
        node.gpus[0].show(90, GB, 500, stamp=second, energy=node.gpus[0].energy + second * 200 * JOULE)
        sampler.tick(float(second))
        sampler.source.slow_tick(1.0)
    gpu = summary(sampler)["gpus"][0]
    assert (gpu["power_avg_w"], gpu["power_peak_w"]) == (200.0, 500)


def test_a_restarted_sampler_has_the_energy_of_the_time_between_too(node: FakeNode, make) -> None:
    first = make([0, 1])
    node.gpus[0].show(90, GB, 300, stamp=5, energy=node.gpus[0].energy + 100 * JOULE)
    first.tick(1.0)
    first.slow_tick(1.0)
    node.gpus[0].show(90, GB, 300, stamp=6, energy=node.gpus[0].energy + 400 * JOULE)
    second = make([0, 1])
    second.restore(marshal.loads(marshal.dumps(first.state(), statefile.FORMAT)), 2.0)
    node.gpus[0].show(90, GB, 300, stamp=7, energy=node.gpus[0].energy + 500 * JOULE)
    second.tick(3.0)
    assert summary(second)["gpus"][0]["energy_j"] == 500.0
