"""NVIDIA GPUs and their MIG slices through the driver's own library, at the full rate.

Source of the functions, structures and units: nvml.h. Slurm's indices count GPUs in NVML's order, and for a divided GPU
its slices (gres.conf, AutoDetect=nvml). A slice has its own memory; its use is only reported by `nvmlGpm…`, on Hopper
and later, and its power is never reported.
"""

from __future__ import annotations

import ctypes

from collector.sources.base import Gpu, Source, SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = "libnvidia-ml.so.1"
GRAPHICS_CLOCK, MEMORY_CLOCK, GPU_TEMPERATURE = 0, 2, 0
GRAPHICS_UTIL = 1
"""NVML_GPM_METRIC_GRAPHICS_UTIL: percent of the time between two samples."""

SLOWED = 0x4 | 0x8 | 0x20 | 0x40 | 0x80
"""Reasons that slow the clocks down: power cap, hardware slowdown, thermal (software, hardware), power brake."""

ENERGY_J, POWER_W = 1e-3, 1e-3
WHOLE_DEVICE = "the driver reports the power of the whole device, not of its slices"
NO_USE = "the driver does not report the use of single MIG slices of this model"


class Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


class PciInfo(ctypes.Structure):
    _fields_ = (("bus_legacy", ctypes.c_char * 16), ("numbers", ctypes.c_uint * 5), ("bus", ctypes.c_char * 32))


class GpmMetric(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_uint),
        ("error", ctypes.c_uint),
        ("value", ctypes.c_double),
        ("names", ctypes.c_void_p * 3),
    )


class GpmMetrics(ctypes.Structure):
    # The library reads `count` metrics; its own structure has space for more.
    _fields_ = (
        ("version", ctypes.c_uint),
        ("count", ctypes.c_uint),
        ("samples", ctypes.c_void_p * 2),
        ("metrics", GpmMetric * 512),
    )


class Library:
    """The driver's library; `value` queries one quantity and is None if it is not reported."""

    def __init__(self, path: str) -> None:
        try:
            self.calls: Any = ctypes.CDLL(path)
        except OSError as error:
            raise SourceError(f"{path}: {error}") from error
        if self.calls.nvmlInit_v2() != 0:
            raise SourceError("NVML finds no driver")

    def value(self, name: str, target: Any, device: ctypes.c_void_p, *arguments: Any) -> Any:
        """`target` filled by `name(device, *arguments, target)`."""
        call = getattr(self.calls, name, None)
        if call is None or call(device, *arguments, ctypes.byref(target)) != 0:
            return None
        return getattr(target, "value", target)

    def number(self, name: str, device: ctypes.c_void_p, *arguments: Any) -> int | None:
        found = self.value(name, ctypes.c_uint(), device, *arguments)
        return None if found is None else int(found)

    def devices(self) -> list[ctypes.c_void_p]:
        count = ctypes.c_uint()
        if self.calls.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return []
        handles = [ctypes.c_void_p() for _ in range(count.value)]
        return [
            handle
            for index, handle in enumerate(handles)
            if self.calls.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) == 0
        ]

    def slices(self, device: ctypes.c_void_p) -> list[ctypes.c_void_p] | None:
        """The MIG slices of a device, None if it is not divided."""
        pending = ctypes.c_uint()
        mode = ctypes.c_uint()
        call = getattr(self.calls, "nvmlDeviceGetMigMode", None)
        if call is None or call(device, ctypes.byref(mode), ctypes.byref(pending)) != 0 or not mode.value:
            return None
        found = []
        for index in range(self.number("nvmlDeviceGetMaxMigDeviceCount", device) or 0):
            handle = ctypes.c_void_p()
            if self.value("nvmlDeviceGetMigDeviceHandleByIndex", handle, device, ctypes.c_uint(index)) is not None:
                found.append(handle)
        return found


class Unit:
    """A GPU, or a slice of one, as a job may have it."""

    def __init__(self, library: Library, parent: ctypes.c_void_p, part: ctypes.c_void_p | None) -> None:
        self.library, self.parent, self.part = library, parent, part
        self.handle = part or parent
        self.energy: int | None = None
        self.samples: list[ctypes.c_void_p] = []
        self.instance = library.number("nvmlDeviceGetGpuInstanceId", part) if part else None

    def describe(self, gpu: Gpu) -> Gpu:
        read = self.library
        pci = read.value("nvmlDeviceGetPciInfo_v3", PciInfo(), self.parent)
        gpu.bus = pci.bus.decode("ascii", "replace").lower()[:16] if pci else ""
        memory = read.value("nvmlDeviceGetMemoryInfo", Memory(), self.handle)
        gpu.mem_total_bytes = memory.total if memory else None
        if self.part:
            gpu.power_from = ""
            gpu.totals.miss("power", WHOLE_DEVICE)
            return gpu
        cap_mw = read.number("nvmlDeviceGetEnforcedPowerLimit", self.parent)
        gpu.power_cap_w = None if cap_mw is None else cap_mw * POWER_W
        self.energy = self._energy()
        return gpu

    def use_percent(self) -> float | None:
        if self.part:
            return self._slice_percent()
        found = self.library.value("nvmlDeviceGetUtilizationRates", Utilization(), self.handle)
        return float(found.gpu) if found else None

    def used_bytes(self) -> int | None:
        found = self.library.value("nvmlDeviceGetMemoryInfo", Memory(), self.handle)
        return int(found.used) if found else None

    def energy_j(self) -> float:
        """Joules since the last call; none for an interval in which the counter went back or was not reported."""
        before, self.energy = self.energy, self._energy()
        if before is None or self.energy is None or self.energy < before:
            return 0.0
        return (self.energy - before) * ENERGY_J

    def _energy(self) -> int | None:
        found = self.library.value("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong(), self.parent)
        return None if found is None else int(found)

    def _slice_percent(self) -> float | None:
        """Between this sample of the slice and the last one, which must be at least 100 ms older."""
        calls = self.library.calls
        if self.instance is None or not hasattr(calls, "nvmlGpmMigSampleGet"):
            return None
        while len(self.samples) < 2:
            self.samples.append(ctypes.c_void_p())
            if calls.nvmlGpmSampleAlloc(ctypes.byref(self.samples[-1])) != 0:
                self.instance = None
                return None
            if len(self.samples) == 1 and not self._take(self.samples[0]):
                return None
        if not self._take(self.samples[1]):
            return None
        asked = GpmMetrics(version=1, count=1)
        asked.samples[0], asked.samples[1] = self.samples[0].value, self.samples[1].value
        asked.metrics[0].id = GRAPHICS_UTIL
        self.samples.reverse()
        if calls.nvmlGpmMetricsGet(ctypes.byref(asked)) != 0 or asked.metrics[0].error != 0:
            return None
        return float(asked.metrics[0].value)

    def _take(self, sample: ctypes.c_void_p) -> bool:
        """Take a sample of the slice; a model that does not support it is not queried again."""
        taken = self.library.calls.nvmlGpmMigSampleGet(self.parent, ctypes.c_uint(self.instance or 0), sample)
        is_taken = int(taken) == 0
        self.instance = self.instance if is_taken else None
        return is_taken


class Nvml(Source):
    """The job's GPUs; `indices` are Slurm's."""

    name = "nvml"
    is_foreign = True
    hang_s = 20.0

    def __init__(self, indices: list[int] | None, path: str = LIBRARY) -> None:
        library = Library(path)
        on_node = []
        for device in library.devices():
            slices = library.slices(device)
            on_node += [Unit(library, device, part) for part in ([None] if slices is None else slices)]
        wanted = indices if indices is not None else list(range(len(on_node)))
        # Inside a job the driver may show only that job's GPUs, counted from zero (cgroups, ConstrainDevices).
        is_all = len(wanted) == len(on_node)
        if not on_node or (any(index >= len(on_node) for index in wanted) and not is_all):
            raise SourceError(f"NVML lists {len(on_node)} GPUs, the job has {wanted}")
        self.units = on_node if is_all else [on_node[index] for index in wanted]
        super().__init__([unit.describe(Gpu(index)) for index, unit in zip(wanted, self.units)])

    def tick(self, dt_s: float) -> None:
        for gpu, unit in zip(self.gpus, self.units):
            percent, used, totals = unit.use_percent(), unit.used_bytes(), gpu.totals
            if percent is None or not 0 <= percent <= 100:
                why = NO_USE if unit.part and unit.instance is None else "for some of the time: no busy percent"
                totals.miss("unreadable", why)
            else:
                totals.add_util(dt_s, percent)
            if used is None or used > (gpu.mem_total_bytes or used):
                totals.miss("peak_mem_gb", "no usable reading for some of the time")
            else:
                totals.add_memory(dt_s, used)
            power_mw = unit.library.number("nvmlDeviceGetPowerUsage", unit.parent) if gpu.power_from else None
            if power_mw is not None:
                totals.add_power(dt_s, power_mw * POWER_W)

    def slow_tick(self, dt_s: float) -> None:
        for gpu, unit in zip(self.gpus, self.units):
            read, totals = unit.library, gpu.totals
            celsius = read.number("nvmlDeviceGetTemperature", unit.parent, ctypes.c_uint(GPU_TEMPERATURE))
            totals.temperature_peak_c = max(totals.temperature_peak_c, celsius or 0)
            kinds = (ctypes.c_uint(GRAPHICS_CLOCK), ctypes.c_uint(MEMORY_CLOCK))
            totals.add_clocks(*(read.number("nvmlDeviceGetClockInfo", unit.parent, kind) for kind in kinds))
            name = "nvmlDeviceGetCurrentClocksThrottleReasons"
            reasons = read.value(name, ctypes.c_ulonglong(), unit.parent)
            if reasons is not None:
                totals.throttle_s += dt_s
                totals.throttled_s += dt_s if reasons & SLOWED else 0.0
            if gpu.power_from:
                totals.energy_j += unit.energy_j()
                totals.energy_s += dt_s
