"""One GPU of amdgpu: its open files, what was postponed since the last reading, and the growth of its counters."""

from __future__ import annotations

import os
import struct
import time

from collector.gpu_metrics import (
    ENERGY_J,
    FIRMWARE_TICK_S,
    U16_NONE,
    U32_NONE,
    U64_NONE,
    Layout,
    layout_of,
    partition_reader,
)
from collector.sources.amdgpu_files import TABLE_SIZE_MAX, content, opened, power_cap_w
from collector.sources.base import SourceError, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from collector.calibration import Calibration
    from collector.sources.amdgpu_files import Device
    from collector.sources.base import Gpu

POWER_W_MAX = 2000.0
"""No package uses more (MI355X: 1400 W): a larger value is not energy but a counter that was reset."""

COUNTS_A_SECOND_MAX = 1.1e6
"""For the activity accumulator while its scale is not known: a tenth above the largest that is considered."""

COUNTS_SLACK_FRACTION = 0.05
STALE_S_MIN = 1.0
REST_S = 60.0
"""How long a GPU is not read after its files did not answer."""

ANY = float("inf")
NO_POWER_W = 1 << 29
"""Above every reading: the peak of a GPU whose power is not reported, or not its own. An integer, so comparing is
fast."""


class Die:
    """A die, or a partition of a device; `counters` are the raw ones of the last slow tick."""

    def __init__(self, device: Device, part: int, gpu: Gpu) -> None:
        self.path, self.gpu, self.part = device.path, gpu, part
        self.is_partition = device.partitions > 1
        # How many GPUs share the package.
        self.parts = 2 if device.is_two_die else device.partitions
        gpu.module_id = device.module_id
        gpu.power_cap_w = power_cap_w(device.path)
        self.power_peak_w = 0
        self.rests_until = 0.0
        self.lost_ticks = 0
        # Memory: the text as it was last read, its value in bytes, and the source's `covered_s` since when it is valid.
        self.used_written: bytes | None = None
        self.used: float | None = None
        self.used_since_s = 0.0
        self._open_table(device.is_two_die)
        self._open_memory()

    def _open_table(self, is_two_die: bool) -> None:
        """The binary table if its layout is known, otherwise the driver's text file of the busy percent."""
        self.layout: Layout | None = None
        reader: Callable[[bytes], Sequence[Any]] | None
        blob = b""
        try:
            self.table_fd = opened(self.path, "gpu_metrics")
            blob = os.pread(self.table_fd, TABLE_SIZE_MAX, 0)
            self.layout = layout_of(blob)
        except (OSError, SourceError):
            pass
        self.has_power = False
        self.counters: dict[str, Any] = {}
        if self.layout is None:
            self.table_fd = opened(self.path, "gpu_busy_percent")
            self.size, reader = 32, _fast_text
            for name in ("energy", "power", "temperature"):
                self.gpu.totals.miss(name, "no gpu_metrics table of a known layout")
        else:
            self.size, reader = self.layout.size, self.layout.fast
        if self.is_partition:
            reader = partition_reader(self.layout, self.part) if self.layout else None
        if reader is None:
            raise SourceError("the driver does not report the partitions of a device separately")
        self.fast = reader
        if self.layout is None:
            return
        # Energy counts from here on. Only one die of a package reports power; on the other one both fields are zero.
        *_, energy, busy_acc, busy_ticks, stamp = self.layout.slow(blob)
        self.has_power = self.part == 0 and (not is_two_die or bool(energy))
        self.counters = {**self._counted(energy, busy_acc, busy_ticks, stamp), "is_first": True}

    def _open_memory(self) -> None:
        self.used_fd: int | None = None
        if self.is_partition:
            reason = "the driver reports the memory of the whole device, not of its partitions"
            self.gpu.totals.miss("peak_mem_gb", reason)
            return
        self.used_fd = opened(self.path, "mem_info_vram_used")
        self.gpu.mem_total_bytes = number(content(self.path, "mem_info_vram_total"))

    @property
    def is_resting(self) -> bool:
        return self.rests_until > time.monotonic()

    def take_power(self) -> None:
        """Whether it is decided if the power belongs to this GPU; if it does not, no reading is above the stored
        peak."""
        self.has_power = bool(self.gpu.power_from)
        self.power_peak_w = 0 if self.has_power else NO_POWER_W

    def take_power_peak(self, power_w: int) -> None:
        self.power_peak_w = power_w if power_w != U16_NONE else NO_POWER_W

    def take_memory(self, written: bytes, covered_s: float) -> None:
        """The memory in use has changed. Raises ValueError if it is not a number."""
        used = float(written)
        self._settle_memory(covered_s)
        self.used_written, self.used = written, used
        if used > (self.gpu.mem_total_bytes or ANY):
            self.used = None
            self.gpu.totals.miss("peak_mem_gb", "some readings were above the capacity")

    def _settle_memory(self, covered_s: float) -> None:
        if self.used is not None and covered_s > self.used_since_s:
            self.gpu.totals.add_memory(covered_s - self.used_since_s, self.used)
        self.used_since_s = covered_s

    def settle(self, covered_s: float, ticks: int) -> None:
        """Bring the totals up to the last tick."""
        self._settle_memory(covered_s)
        totals = self.gpu.totals
        totals.samples = float(ticks - self.lost_ticks)
        if self.power_peak_w < NO_POWER_W:
            totals.power_peak_w = max(totals.power_peak_w, self.power_peak_w)

    def lose_memory(self, error: Exception, covered_s: float) -> None:
        """The memory in use is unknown until it is read again."""
        self._settle_memory(covered_s)
        self.used = self.used_written = None
        self.gpu.totals.miss("peak_mem_gb", f"for some of the time: {_reason(error)}")

    def failed(self, error: Exception) -> None:
        """The GPU gave nothing at this tick: in reset, removed, hanging, or a file that was empty."""
        self.lost_ticks += 1
        if isinstance(error, IndexError):
            self.gpu.totals.miss("invalid", "some readings of the busy percent were above 100")
            return
        if isinstance(error, TimeoutError):
            self.rests_until = time.monotonic() + REST_S
        self.gpu.totals.miss("unreadable", f"for some of the time: {_reason(error)}")

    def slow_tick(self, dt_s: float, calibration: Calibration) -> None:
        if self.layout is None or self.is_resting:
            return
        try:
            blob = os.pread(self.table_fd, self.size, 0)
            hotspot_c, gfx_mhz, mem_mhz, throttle, *counted = self.layout.slow(blob)
            activity, power_w = self.fast(blob)
        except (OSError, struct.error) as error:
            self.failed(error)
            self.lost_ticks -= 1
            return
        totals = self.gpu.totals
        if throttle not in (None, U32_NONE):
            totals.throttle_s += dt_s
            totals.throttled_s += dt_s if throttle else 0.0
        if hotspot_c != U16_NONE:
            totals.temperature_peak_c = max(totals.temperature_peak_c, hotspot_c)
        totals.add_clocks(*(None if mhz == U16_NONE else mhz for mhz in (gfx_mhz, mem_mhz)))
        if self.has_power and power_w != U16_NONE:
            totals.add_power(dt_s, power_w)
        before, self.counters = self.counters, self._counted(*counted)
        if self._was_stale(before, activity, dt_s):
            return
        if self._went_back(before):
            totals.miss("counters", "a counter went back, as after a reset of the GPU; that interval is left out")
            return
        self._add_energy(before, dt_s)
        self._add_busy(before, dt_s, calibration)

    def _counted(self, energy: int, busy_acc: int | None, busy_ticks: int | None, stamp: int | None) -> dict[str, Any]:
        """The counters as they are now, with the sums and the instant that they belong to; None: not reported."""
        totals = self.gpu.totals
        return {
            "energy": None if energy in (U32_NONE, U64_NONE) else energy,
            "busy_acc": None if busy_acc == U32_NONE else busy_acc,
            "busy_ticks": None if busy_ticks == U32_NONE else busy_ticks,
            "stamp": None if stamp == U64_NONE else stamp,
            "util_s": totals.util_s,
            "measured_s": totals.measured_s,
            "at_s": time.monotonic(),
        }

    def _was_stale(self, before: dict[str, Any], activity: int, dt_s: float) -> bool:
        """Whether the table did not change since the last slow tick: the values that ticks took from it are removed."""
        stamp, now = self.counters["stamp"], self.counters
        if stamp is None or stamp != before["stamp"] or dt_s < STALE_S_MIN or "is_first" in before:
            return False
        totals, taken_s = self.gpu.totals, now["measured_s"] - before["measured_s"]
        if taken_s > 0 and activity < len(totals.hist):
            totals.hist[activity] = max(totals.hist[activity] - taken_s, 0.0)
            now.update(util_s=totals.util_s, measured_s=totals.measured_s)
            totals.miss("stale", "the firmware's table stood still for some of the time")
        return True

    def _went_back(self, before: dict[str, Any]) -> bool:
        """Whether a counter that never wraps is lower than before."""
        pairs = ((before[name], self.counters[name]) for name in ("stamp", "energy"))
        return any(old is not None and new is not None and new < old and old >= U32_NONE for old, new in pairs)

    def _add_energy(self, before: dict[str, Any], dt_s: float) -> None:
        old, new = before["energy"], self.counters["energy"]
        if not self.has_power or old is None or new is None:
            return
        # Below 2^32 the counter may be one of 32 bits, which wraps within minutes.
        counts = new - old if new >= old else new - old + U32_NONE + 1
        seconds = max(dt_s, self.counters["at_s"] - before["at_s"])
        if counts * ENERGY_J > POWER_W_MAX * (seconds + 1.0):
            self.gpu.totals.miss("counters", "the energy counter was reset; that interval is left out")
            return
        self.gpu.totals.energy_j += counts * ENERGY_J
        self.gpu.totals.energy_s += seconds

    def _add_busy(self, before: dict[str, Any], dt_s: float, calibration: Calibration) -> None:
        """The activity accumulator over the interval, for an exact mean once its scale is known."""
        now = self.counters
        measured_s = now["measured_s"] - before["measured_s"]
        if now["busy_acc"] is None or before["busy_acc"] is None or measured_s <= 0:
            return
        counts = now["busy_acc"] - before["busy_acc"]
        weight = dt_s
        if now["busy_ticks"] is not None and before["busy_ticks"] is not None:
            weight = (now["busy_ticks"] - before["busy_ticks"]) & U32_NONE
        elif now["stamp"] is not None and before["stamp"] is not None:
            weight = (now["stamp"] - before["stamp"]) * FIRMWARE_TICK_S
        if weight <= 0:
            return
        is_wrapped = counts < 0
        counts &= U32_NONE
        if not is_wrapped:
            calibration.learn(counts, weight, (now["util_s"] - before["util_s"]) / measured_s, measured_s)
        elif calibration.scale is None:
            counts = U32_NONE
        highest = (calibration.scale or COUNTS_A_SECOND_MAX) * weight * (1 + COUNTS_SLACK_FRACTION)
        if counts > highest:
            self.gpu.totals.miss("counters", "the activity counter was reset; that interval is left out")
            return
        self.gpu.totals.busy_acc += counts
        self.gpu.totals.busy_weight += weight
        self.gpu.totals.busy_s += measured_s

    def forget_use(self) -> None:
        """The next growth of the activity accumulator does not belong to measured time."""
        self.counters["busy_acc"] = None

    def restore(self, counters: dict[str, Any], covered_s: float, ticks: int) -> None:
        """Continue from a checkpoint, whose totals are restored already."""
        self.counters = dict(counters)
        self.used_since_s, self.used_written = covered_s, None
        self.lost_ticks = ticks - int(self.gpu.totals.samples)
        if self.has_power:
            self.power_peak_w = int(self.gpu.totals.power_peak_w)


def _reason(error: Exception) -> str:
    """Why a file gave nothing, in the system's words if the error came from the system."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "an empty or cut reading"


def _fast_text(blob: bytes) -> tuple[int, int]:
    """`gpu_busy_percent` in the shape of a table's fast fields."""
    return int(blob), 0
