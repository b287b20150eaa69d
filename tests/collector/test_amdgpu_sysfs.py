"""AMD's driver files: whose GPU, whose power, and every way a reading can be wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.calibration import Calibration
from collector.sources.amdgpu_sysfs import AmdgpuSysfs
from collector.sources.base import SourceError
from tests.collector.fake_node import CAPACITY_BYTES, MI210, FakeNode

GB = 2**30


def source(node: FakeNode, indices: list[int] | None = None, scale: float | None = None) -> AmdgpuSysfs:
    return AmdgpuSysfs(str(node.root), indices, Calibration(scale))


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path)


def test_slurms_index_counts_gpus_by_pci_address(node: FakeNode) -> None:
    found = source(node, [0, 3, 7])
    assert [(gpu.index, gpu.bus, gpu.module_id) for gpu in found.gpus] == [
        (0, "0000:c1:00.0", 0),
        (3, "0000:ce:00.0", 1),
        (7, "0000:de:00.0", 3),
    ]


def test_a_tick_adds_use_memory_and_power(node: FakeNode) -> None:
    found = source(node)
    node.gpus[0].show(80, 10 * GB, power_w=400)
    node.gpus[1].show(60, 20 * GB)
    found.tick(1.0)
    found.settle()
    first, second = (gpu.totals for gpu in found.gpus[:2])
    assert (first.util_s, first.mem_peak, first.power_peak_w) == (80.0, 10 * GB, 400)
    assert (second.util_s, second.mem_peak, second.power_s) == (60.0, 20 * GB, 0)


def test_power_is_the_packages_and_goes_to_who_holds_both_dies(node: FakeNode) -> None:
    found = source(node, [0, 1, 2])
    assert [gpu.power_from for gpu in found.gpus] == ["module", "", ""]
    assert "power" not in found.gpus[1].totals.reasons
    assert "shared module" in found.gpus[2].totals.reasons["power"]
    assert found.gpus[0].power_cap_w == 560.0


def test_a_model_of_one_die_has_a_sensor_of_its_own(tmp_path: Path) -> None:
    found = source(FakeNode(tmp_path, gpus=2, device=MI210), [1])
    assert (found.gpus[0].power_from, found.gpus[0].module_id) == ("gpu", None)


def test_energy_is_the_counters_growth_and_a_reset_loses_its_interval_only(node: FakeNode) -> None:
    found = source(node, [0, 1])
    # 2^-16 J a count: 10 J, a reset, then 5 J.
    for energy in (1 << 40, (1 << 40) + 10 * 65536, 1000, 1000 + 5 * 65536):
        node.gpus[0].show(50, energy=energy)
        found.slow_tick(10.0)
    totals = found.gpus[0].totals
    assert totals.energy_j == pytest.approx(15.0)
    assert "went back" in totals.reasons["counters"]


def test_what_ticks_took_from_a_table_that_stands_still_is_taken_back(node: FakeNode) -> None:
    found = source(node, [0])
    for stamp, util in ((5, 70), (6, 90), (6, 90)):
        node.gpus[0].show(util, stamp=stamp)
        found.tick(1.0)
        found.tick(1.0)
        found.slow_tick(2.0)
    # 2 s at 70 % and 2 s at 90 %; the table of the last 2 s is that of those before.
    assert (found.gpus[0].totals.measured_s, found.gpus[0].totals.util_s) == (4.0, 320.0)
    assert "stood still" in found.gpus[0].totals.reasons["stale"]


def test_a_percent_that_is_none_and_memory_above_capacity_never_reach_an_average(node: FakeNode) -> None:
    found = source(node, [0])
    for activity, used in ((250, GB), (0xFFFF, GB), (40, CAPACITY_BYTES + 1)):
        node.gpus[0].show(activity, used)
        found.tick(1.0)
    found.settle()
    totals = found.gpus[0].totals
    assert (totals.measured_s, totals.util_s) == (1.0, 40.0)
    # What was read first stood until the third tick.
    assert (totals.mem_s, totals.mem_peak) == (2.0, GB)
    assert {"invalid", "peak_mem_gb"} <= totals.reasons.keys()


@pytest.mark.parametrize("content", [b"", b"\x78\x00\x01"])
def test_an_empty_or_cut_reading_is_a_gap(node: FakeNode, content: bytes) -> None:
    found = source(node, [0, 1])
    node.gpus[0].write("gpu_metrics", content)
    node.gpus[1].show(30)
    found.tick(1.0)
    found.slow_tick(1.0)
    assert found.gpus[0].totals.measured_s == 0
    assert "empty or cut" in found.gpus[0].totals.reasons["unreadable"]
    assert found.gpus[1].totals.util_s == 30.0


def test_an_empty_memory_file_is_a_gap_of_memory_alone_and_never_zero(node: FakeNode) -> None:
    found = source(node, [0])
    for used, util in ((b"", 30), (b"1073741824\n", 50), (b"1073741824\n", 50), (b"", 70), (b"", 70)):
        node.gpus[0].show(util)
        node.gpus[0].write("mem_info_vram_used", used)
        found.tick(1.0)
    found.settle()
    totals = found.gpus[0].totals
    # Read at the first tick and at every other one from the third on: 2^30 bytes stood for the third and the fourth.
    assert (totals.measured_s, totals.util_s) == (5.0, 270.0)
    assert (totals.mem_s, totals.mem_byte_s, totals.mem_peak) == (2.0, 2 * 2.0**30, 2**30)
    assert totals.reasons["peak_mem_gb"] == "for some of the time: an empty or cut reading"


def test_a_gpu_that_vanishes_in_mid_job_leaves_the_others_alone(node: FakeNode, monkeypatch) -> None:
    found = source(node, [0, 1])
    gone = found.dies[0].table_fd
    real = __import__("os").pread

    def pread(fd: int, size: int, offset: int) -> bytes:
        if fd == gone:
            raise PermissionError(1, "Operation not permitted")
        return real(fd, size, offset)

    monkeypatch.setattr("os.pread", pread)
    node.gpus[1].show(55)
    found.tick(1.0)
    found.slow_tick(1.0)
    assert found.gpus[0].totals.reasons["unreadable"] == "for some of the time: Operation not permitted"
    assert found.gpus[1].totals.util_s == 55.0


def test_an_unknown_table_falls_back_to_the_text_files(node: FakeNode) -> None:
    node.gpus[0].write("gpu_metrics", b"\xff" * 96)
    node.gpus[0].write("gpu_busy_percent", b"66\n")
    found = source(node, [0])
    found.tick(1.0)
    assert found.gpus[0].totals.util_s == 66.0
    assert found.gpus[0].totals.reasons["energy"] == "no gpu_metrics table of a known layout"


def test_throttled_time_is_the_time_of_slow_ticks_with_a_throttle_bit(node: FakeNode) -> None:
    found = source(node, [0])
    for throttle in (0, 4, 0, 0xFFFFFFFF):
        node.gpus[0].show(50, throttle=throttle)
        found.tick(2.0)
        found.slow_tick(2.0)
    assert (found.gpus[0].totals.throttled_s, found.gpus[0].totals.throttle_s) == (2.0, 6.0)


def test_a_node_without_the_driver_or_with_fewer_gpus_says_so(node: FakeNode, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        AmdgpuSysfs(str(tmp_path / "nowhere"), None, Calibration())
    with pytest.raises(SourceError, match="has GPU 9, the driver knows 8 GPUs"):
        source(node, [0, 9])


def busy_intervals(node: FakeNode, found: AmdgpuSysfs, scale: float, utils: list[int], start: int = 0) -> None:
    """Ten seconds each at these uses; the accumulator counts `scale` a second at full use, and wraps."""
    acc, stamp = start, 10**9
    node.gpus[0].show(0, busy_acc=acc, stamp=stamp)
    found.slow_tick(0.0)
    for util in utils:
        acc = (acc + round(scale * 10 * util / 100)) % 2**32
        stamp += 10 * 10**8
        node.gpus[0].show(util, busy_acc=acc, stamp=stamp)
        found.tick(10.0)
        found.slow_tick(10.0)


def test_the_accumulators_scale_is_learned_from_busy_intervals_and_then_kept(node: FakeNode) -> None:
    found = source(node, [0])
    busy_intervals(node, found, 1e5, [90] * 13)
    # 13 x 10 s x 0.9 = 117 busy seconds: not yet 120.
    assert found.calibration.scale is None
    busy_intervals(node, found, 1e5, [95])
    assert found.calibration.scale == 1e5


def test_idle_or_odd_intervals_teach_nothing(node: FakeNode) -> None:
    found = source(node, [0])
    busy_intervals(node, found, 1e5, [20] * 50)
    busy_intervals(node, found, 3e4, [100] * 50)
    assert found.calibration.scale is None


def test_a_wrapped_accumulator_counts_on(node: FakeNode) -> None:
    found = source(node, [0], scale=1e5)
    busy_intervals(node, found, 1e5, [50], start=2**32 - 1000)
    # 10 s at half use: 5e5 counts over 10 s.
    assert (found.gpus[0].totals.busy_acc, found.gpus[0].totals.busy_weight) == (500_000, pytest.approx(10.0))
