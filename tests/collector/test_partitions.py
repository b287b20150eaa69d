"""MI300: devices that are one GPU or several, tables from 1.4 to 1.8, and whose memory and power is whose."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from collector.calibration import Calibration
from collector.loop import Sampler
from collector.sources.amdgpu_sysfs import AmdgpuSysfs, gpus_on_node
from collector.sources.base import SourceError
from tests.collector.fake_node import FakeNode
from tests.collector.sampling import GB, config_of, job, summary

MI300X, MI300A = "0x74a1", "0x74a0"
NONE = 0xFFFFFFFF
# By content revision: size, and the offsets of activity, power, energy, tick counter, busy counts, number of
# partitions, their statistics and the size of one of these (kgd_pp_interface.h, written again here).
PLACES = {
    6: (1664, 12, 10, 16, 32, 68, 306, 312, 168),
    7: (2208, 12, 10, 24, 40, 76, 338, 344, 232),
    8: (3872, 12, 10, 24, 40, 76, 338, 344, 440),
}


def table(
    content: int, activity: int, parts: list[list[int]], energy: int = 0, ticks: int = 0, busy_acc: int = 0
) -> bytes:
    """A table of ones in which each partition's dies are busy so many percent."""
    size, at_activity, at_power, at_energy, at_ticks, at_busy, at_count, at_stats, stride = PLACES[content]
    made = bytearray(b"\xff" * size)
    struct.pack_into("<HBB", made, 0, size, 1, content)
    struct.pack_into("<H", made, at_activity, activity)
    struct.pack_into("<H", made, at_power, 500)
    struct.pack_into("<Q", made, at_energy, energy)
    struct.pack_into("<II", made, at_ticks, ticks, NONE)
    struct.pack_into("<I", made, at_busy, busy_acc)
    struct.pack_into("<H", made, at_count, len(parts))
    for part, dies in enumerate(parts):
        struct.pack_into(f"<{len(dies)}I", made, at_stats + part * stride, *dies)
    return bytes(made)


def node_of(tmp_path: Path, model: str, mode: str, content: int, parts: list[list[int]]) -> FakeNode:
    node = FakeNode(tmp_path / "sys", gpus=2, device=model)
    for gpu in node.gpus:
        gpu.write("current_compute_partition", f"{mode}\n".encode())
        gpu.write("gpu_metrics", table(content, 50, parts))
    return node


def sampler_of(tmp_path: Path, indices: list[int], calibration: Calibration) -> Sampler:
    config = config_of(tmp_path)
    return Sampler(config, job(indices), AmdgpuSysfs(config.sysfs_root, indices, calibration), calibration)


@pytest.mark.parametrize("content", PLACES)
@pytest.mark.parametrize(
    ("model", "mode", "parts"),
    [
        (MI300X, "SPX", [[10, 20, 30, 40, 50, 60, 70, 80]]),
        (MI300X, "DPX", [[10, 20, 30, 40], [50, 60, 70, 80]]),
        (MI300A, "TPX", [[10, 20], [30, 40], [50, 60]]),
        (MI300X, "QPX", [[10, 20], [30, 40], [50, 60], [70, 80]]),
        (MI300X, "CPX", [[10], [20], [30], [40], [50], [60], [70], [80]]),
        (MI300A, "CPX", [[10], [20], [30], [40], [50], [60]]),
    ],
)
def test_each_partition_is_a_gpu_with_the_mean_of_its_dies(
    tmp_path: Path, content: int, model: str, mode: str, parts: list[list[int]]
) -> None:
    node = node_of(tmp_path, model, mode, content, parts)
    assert gpus_on_node(str(node.root)) == 2 * len(parts)
    # The second device's partitions follow those of the first.
    indices = list(range(len(parts), 2 * len(parts)))
    source = AmdgpuSysfs(str(node.root), indices, Calibration())
    source.tick(1.0)
    means = [50] if len(parts) == 1 else [sum(dies) / len(dies) for dies in parts]
    assert [gpu.totals.util_s for gpu in source.gpus] == means
    assert {gpu.bus for gpu in source.gpus} == {"0000:c6:00.0"}


def test_memory_of_a_partition_is_not_told_and_power_goes_to_who_holds_all_of_them(tmp_path: Path) -> None:
    node = node_of(tmp_path, MI300X, "DPX", 7, [[40], [60]])
    whole = sampler_of(tmp_path, [0, 1], Calibration())
    part = sampler_of(tmp_path, [2], Calibration())
    node.gpus[0].write("gpu_metrics", table(7, 50, [[40], [60]], energy=700 * 65536))
    for sampler in (whole, part):
        sampler.tick(1.0)
        sampler.source.slow_tick(1.0)
    first, second = summary(whole)["gpus"]
    assert (first["module_id"], second["module_id"], first["energy_j"]) == (0, 0, 700.0)
    assert not {name for name in second if "power" in name or "energy" in name}
    (alone,) = summary(part)["gpus"]
    assert alone["module_id"] == 1
    assert "shared module" in alone["missing"]["power"]
    assert "peak_mem_gb" not in alone
    assert "not of its partitions" in alone["missing"]["peak_mem_gb"]


def test_an_undivided_device_has_its_memory_and_its_power_alone(tmp_path: Path) -> None:
    node = node_of(tmp_path, MI300A, "SPX", 6, [[40] * 6])
    sampler = sampler_of(tmp_path, [1], Calibration())
    node.gpus[1].write("gpu_metrics", table(6, 35, [[40] * 6], energy=500 * 65536))
    node.gpus[1].write("mem_info_vram_used", f"{8 * GB}\n".encode())
    sampler.tick(1.0)
    (gpu,) = summary(sampler)["gpus"]
    assert (gpu["avg_util"], gpu["peak_mem_gb"], gpu["energy_j"], gpu["power_peak_w"]) == (35.0, 8.0, 500.0, 500)
    assert "module_id" not in gpu


def test_partitions_that_the_table_does_not_tell_apart_are_no_source(tmp_path: Path) -> None:
    node = FakeNode(tmp_path / "sys", gpus=1, device=MI300X)
    node.gpus[0].write("current_compute_partition", b"DPX\n")
    # Revision 1.3 has no statistics of partitions.
    with pytest.raises(SourceError, match="does not report the partitions"):
        AmdgpuSysfs(str(node.root), [0], Calibration())


def test_the_tick_counter_is_the_time_of_the_accumulator(tmp_path: Path) -> None:
    node = node_of(tmp_path, MI300X, "SPX", 7, [[40] * 8])
    calibration = Calibration()
    sampler = sampler_of(tmp_path, [0], calibration)
    # 1000 ticks a second; the accumulator counts a hundred a tick at full use and sees 60 %, samples 50 or 70.
    for second in range(1, 601):
        made = table(7, 50 if second % 2 else 70, [[40] * 8], ticks=second * 1000, busy_acc=second * 60_000)
        node.gpus[0].write("gpu_metrics", made)
        sampler.tick(float(second))
        if second % 10 == 0:
            sampler.source.slow_tick(10.0)
    (gpu,) = summary(sampler)["gpus"]
    assert calibration.scale == 100.0
    assert (gpu["avg_util"], gpu["util_source"]) == (60.0, "accumulator")
