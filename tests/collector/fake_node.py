"""A node's driver files without the hardware: MI250X dies in a folder, laid out as amdgpu does it.

The `gpu_metrics` table is packed field by field from the offsets of kgd_pp_interface.h that the collector's facts
name, independently of the code under test.
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path

MI250X, MI210 = "0x7408", "0x740f"
CAPACITY_BYTES = 68702699520
BUSES = ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")

# struct gpu_metrics_v1_3 in its order, 120 bytes (kgd_pp_interface.h).
V1_3 = struct.Struct("<HBB6H4HQQ7H7HI3HHII4HQ3HHQ")


def table(
    activity: int = 0,
    power_w: int = 0,
    energy: int = 0,
    busy_acc: int = 0,
    stamp: int = 0,
    throttle: int = 0,
    hotspot_c: int = 45,
    gfx_mhz: int = 1700,
    mem_mhz: int = 1600,
) -> bytes:
    """A v1.3 table; what amdgpu does not write on MI250X is all ones."""
    none = 0xFFFF
    return V1_3.pack(
        120, 1, 3,
        40, hotspot_c, 50, none, none, none,
        activity, 0, 0, power_w,
        energy, time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        gfx_mhz, none, mem_mhz, 0, 0, none, none,
        gfx_mhz, none, mem_mhz, none, none, none, none,
        throttle,
        0, 16, 160, none,
        busy_acc, 0,
        50, 50, 50, 50,
        stamp,
        none, none, none, none,
        throttle,
    )  # fmt: skip


class FakeGpu:
    """One die: `show` makes its files say something."""

    def __init__(self, folder: Path, *, is_primary: bool) -> None:
        self.folder, self.is_primary = folder, is_primary
        self.energy = 1 << 40 if is_primary else 0

    def show(self, activity: int, used_bytes: int = 11_665_408, power_w: int = 90, **fields: int) -> None:
        fields.setdefault("stamp", time.monotonic_ns() // 10)
        power_w = power_w if self.is_primary else 0
        self.write("gpu_metrics", table(activity, power_w, fields.pop("energy", self.energy), **fields))
        self.write("mem_info_vram_used", f"{used_bytes}\n".encode())
        self.write("gpu_busy_percent", f"{activity}\n".encode())

    def write(self, name: str, content: bytes) -> None:
        """In place and at once, as the driver's files are never seen half."""
        fd = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT)
        os.pwrite(fd, content, 0)
        os.ftruncate(fd, len(content))
        os.close(fd)


class FakeNode:
    """A node of `gpus` dies under `root`, every file as amdgpu and the PCI core write it."""

    def __init__(self, root: Path, gpus: int = 8, device: str = MI250X) -> None:
        self.root = root
        driver = root / "bus/pci/drivers/amdgpu"
        self.gpus = []
        for index in range(gpus):
            folder = driver / f"0000:{BUSES[index]}:00.0"
            (folder / "hwmon/hwmon4").mkdir(parents=True)
            (folder / "device").write_text(f"{device}\n")
            (folder / "mem_info_vram_total").write_text(f"{CAPACITY_BYTES}\n")
            (folder / "hwmon/hwmon4/power1_cap").write_text("560000000\n")
            gpu = FakeGpu(folder, is_primary=device != MI250X or index % 2 == 0)
            gpu.show(0, stamp=0)
            self.gpus.append(gpu)
        (driver / "bind").write_text("")
