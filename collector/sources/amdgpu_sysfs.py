"""AMD GPUs straight from the driver's files: two reads per GPU and tick, on descriptors that stay open.

Source of the file names and their units: Linux drivers/gpu/drm/amd/pm/amdgpu_pm.c. `pcie_bw` is never read: it
sleeps one second in the kernel and restarts counters that others use.
"""

from __future__ import annotations

import os
import struct

from collector.gpu_metrics import (
    ENERGY_J,
    FIRMWARE_TICK_S,
    U16_NONE,
    U32_NONE,
    U64_NONE,
    Layout,
    layout_of,
)
from collector.sources.base import TWO_DIE_MODELS, Gpu, Source, SourceError, number, share_power

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from collector.calibration import Calibration

DRIVER = "bus/pci/drivers/amdgpu"
TABLE_SIZE_MAX = 4096


def buses(root: str) -> list[str]:
    """The PCI addresses of the node's GPUs in Slurm's and HIP's order; SourceError where the driver is not there."""
    try:
        found = [name for name in os.listdir(os.path.join(root, DRIVER)) if name.count(":") == 2]
    except OSError as error:
        raise SourceError(f"{DRIVER}: {error.strerror}") from error
    if not found:
        raise SourceError(f"{DRIVER} holds no GPU")
    return sorted(found)


class AmdgpuSysfs(Source):
    """The dies of the job. `indices` are Slurm's GPU indices, which count the node's GPUs by PCI address."""

    name = "amdgpu_sysfs"

    def __init__(self, root: str, indices: list[int] | None, calibration: Calibration) -> None:
        on_node = buses(root)
        wanted = indices if indices is not None else list(range(len(on_node)))
        if any(index >= len(on_node) for index in wanted):
            raise SourceError(f"the job holds GPU {max(wanted)}, the driver knows {len(on_node)} GPUs")
        self.calibration = calibration
        self.dies = [_Die(os.path.join(root, DRIVER, on_node[i]), Gpu(i, on_node[i])) for i in wanted]
        super().__init__([die.gpu for die in self.dies])
        share_power(self.gpus, [die.has_power for die in self.dies])
        for die in self.dies:
            die.has_power = bool(die.gpu.power_from)
        self.rows = [die.row() for die in self.dies]

    def tick(self, dt_s: float) -> None:
        # Everything in place: a call for each GPU would cost as much as a read.
        pread = os.pread
        for die, fast, table_fd, size, used_fd, capacity, has_power, totals, hist in self.rows:
            try:
                activity, power_w, throttle, stamp = fast(pread(table_fd, size, 0))
                written = pread(used_fd, 32, 0)
                if written != die.used_written:
                    die.used, die.used_written = float(written), written
            except (OSError, ValueError, struct.error) as error:
                die.failed(error)
                continue
            if stamp == die.stamp and die.has_stamp:
                totals.miss("stale", "the firmware's table stood still for some of the time")
                continue
            die.stamp, used = stamp, die.used
            if activity > 100:
                totals.miss("invalid", "some readings of the busy percent were above 100")
                continue
            hist[activity] += dt_s
            totals.util_s += activity * dt_s
            totals.samples += 1.0
            if used <= capacity:
                totals.mem_byte_s += used * dt_s
                totals.mem_s += dt_s
                if used > totals.mem_peak:
                    totals.mem_peak = used
            else:
                totals.miss("peak_mem_gb", "some readings were above the capacity")
            if has_power and power_w != U16_NONE:
                totals.power_w_s += power_w * dt_s
                totals.power_s += dt_s
                if power_w > totals.power_peak_w:
                    totals.power_peak_w = power_w
            if throttle and throttle != U32_NONE:
                totals.throttled_s += dt_s

    def slow_tick(self, dt_s: float) -> None:
        for die in self.dies:
            die.slow_tick(dt_s, self.calibration)

    def state(self) -> dict[str, Any]:
        return {"dies": [die.counters for die in self.dies]}

    def restore(self, state: dict[str, Any]) -> None:
        for die, counters in zip(self.dies, state["dies"]):
            die.counters = dict(counters)
        self.rows = [die.row() for die in self.dies]


class _Die:
    """One GPU's open files and the counters as they were last read."""

    def __init__(self, path: str, gpu: Gpu) -> None:
        self.path, self.gpu = path, gpu
        self.stamp: int | None = None
        # energy, busy_acc, busy_ticks, stamp: the raw counters of the last slow tick; util_s and measured_s with them.
        self.counters: dict[str, Any] = {}
        self.used_fd = _opened(path, "mem_info_vram_used")
        gpu.mem_total_bytes = number(_content(path, "mem_info_vram_total"))
        # The text of the memory in use as it was last read, and its value: it stands still for most of a job.
        self.used_written: bytes | None = None
        self.used = 0.0
        self.is_two_die = _device_id(path) in TWO_DIE_MODELS
        gpu.module_id = gpu.index // 2 if self.is_two_die else None
        self._open_table()
        gpu.power_cap_w = _hwmon_power_cap_w(path)

    def _open_table(self) -> None:
        """The binary table where its layout is known, else the driver's text file of the busy percent."""
        self.layout: Layout | None = None
        self.fast: Callable[[bytes], Sequence[Any]]
        blob = b""
        try:
            self.table_fd = _opened(self.path, "gpu_metrics")
            blob = os.pread(self.table_fd, TABLE_SIZE_MAX, 0)
            self.layout = layout_of(blob)
        except (OSError, SourceError):
            pass
        if self.layout is None:
            self.table_fd = _opened(self.path, "gpu_busy_percent")
            self.size, self.fast, self.has_power, self.has_stamp = 32, _fast_text, False, False
            for name in ("energy", "power", "temperature"):
                self.gpu.totals.miss(name, "no gpu_metrics table of a known layout")
            return
        self.size, self.fast = self.layout.size, self.layout.fast
        self.has_stamp = self.fast(blob)[3] not in (None, U64_NONE)
        energy = self.layout.slow(blob)[3]
        # Only the primary die of a two-die package reports power; on the other one both fields are zero.
        self.has_power = not self.is_two_die or bool(energy)

    def row(self) -> tuple[Any, ...]:
        """What a tick needs of this GPU, in one piece; to be made again when the totals are replaced."""
        capacity = self.gpu.mem_total_bytes or float("inf")
        totals = self.gpu.totals
        fds = self.table_fd, self.size, self.used_fd
        return self, self.fast, *fds, capacity, self.has_power, totals, totals.hist

    def failed(self, error: Exception) -> None:
        """The GPU gave nothing at this tick: in reset, gone, or a file that came back empty."""
        reason = error.strerror if isinstance(error, OSError) else "an empty or cut reading"
        self.gpu.totals.miss("unreadable", f"for some of the time: {reason}")

    def slow_tick(self, dt_s: float, calibration: Calibration) -> None:
        if self.layout is None:
            return
        try:
            blob = os.pread(self.table_fd, self.size, 0)
            hotspot_c, gfx_mhz, mem_mhz, energy, busy_acc, busy_ticks = self.layout.slow(blob)
            _, _, throttle, stamp = self.layout.fast(blob)
        except (OSError, struct.error) as error:
            self.failed(error)
            return
        totals = self.gpu.totals
        if throttle not in (None, U32_NONE):
            totals.throttle_s += dt_s
        if hotspot_c != U16_NONE:
            totals.temperature_peak_c = max(totals.temperature_peak_c, hotspot_c)
        totals.add_clocks(*(None if mhz == U16_NONE else mhz for mhz in (gfx_mhz, mem_mhz)))
        before, self.counters = (
            self.counters,
            {
                "energy": energy,
                "busy_acc": busy_acc,
                "busy_ticks": busy_ticks,
                "stamp": stamp,
                "util_s": totals.util_s,
                "measured_s": totals.measured_s,
            },
        )
        if before:
            self._add_energy(before)
            self._add_busy(before, dt_s, calibration)

    def _add_energy(self, before: dict[str, Any]) -> None:
        energy, layout = self.counters["energy"], self.layout
        if not self.has_power or energy in (U32_NONE, U64_NONE) or layout is None:
            return
        counts = energy - before["energy"]
        if counts < 0 and layout.energy_wraps:
            counts += 1 << 32
        if counts < 0:
            self.gpu.totals.miss("energy", "the counter was reset; that interval is left out")
            return
        self.gpu.totals.energy_j += counts * ENERGY_J

    def _add_busy(self, before: dict[str, Any], dt_s: float, calibration: Calibration) -> None:
        """The activity accumulator over the interval, for an exact mean once its scale is known."""
        now = self.counters
        if now["busy_acc"] in (None, U32_NONE) or before["busy_acc"] in (None, U32_NONE):
            return
        counts = (now["busy_acc"] - before["busy_acc"]) & U32_NONE
        weight = dt_s
        if now["busy_ticks"] not in (None, U32_NONE):
            weight = (now["busy_ticks"] - before["busy_ticks"]) & U32_NONE
        elif now["stamp"] not in (None, U64_NONE) and now["stamp"] > before["stamp"]:
            weight = (now["stamp"] - before["stamp"]) * FIRMWARE_TICK_S
        measured_s = now["measured_s"] - before["measured_s"]
        if measured_s <= 0 or weight <= 0:
            return
        calibration.learn(counts, weight, (now["util_s"] - before["util_s"]) / measured_s)
        self.gpu.totals.busy_acc += counts
        self.gpu.totals.busy_weight += weight


def _fast_text(blob: bytes) -> tuple[int, int, int | None, int | None]:
    """`gpu_busy_percent` in the shape of a table's fast fields."""
    return int(blob), U16_NONE, None, None


def _opened(path: str, name: str) -> int:
    try:
        return os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise SourceError(f"{name} of {os.path.basename(path)}: {error.strerror}") from error


def _content(path: str, name: str) -> bytes | None:
    try:
        fd = os.open(os.path.join(path, name), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(fd, 64)
    except OSError:
        return None
    finally:
        os.close(fd)


def _device_id(path: str) -> int:
    try:
        return int(_content(path, "device") or b"0", 16)
    except ValueError:
        return 0


def _hwmon_power_cap_w(path: str) -> float | None:
    """The power cap of the package; hwmon's number is not stable, so its folder is looked up."""
    try:
        folders = os.listdir(os.path.join(path, "hwmon"))
    except OSError:
        return None
    for folder in folders:
        microwatt = number(_content(os.path.join(path, "hwmon", folder), "power1_cap"))
        if microwatt:
            return microwatt / 1e6
    return None
