"""From drawn readings to `node-summary/1`: every number of a summary is computed from the same readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from demo.archetypes import Host
from demo.shapes import Floats, Range
from wire.payloads import HISTOGRAM_BINS, IDLE_UTIL_PERCENT_MAX, NODE_SUMMARY, TIMELINE_POINTS_MAX

INTERVAL_S = 1.0
READINGS_PER_BUCKET_MAX = 8

# rocm-smi on LUMI-G, 2025/26: 64 GB of a GCD as the driver counts them, the cap of a module, the power of an idle and
# of a loaded one. PCI buses: LUMI training materials, "Process and Thread Distribution and Binding" (2026-04).
MEMORY_TOTAL_GB = 63.98
POWER_CAP_W = 500.0
IDLE_POWER_W: Range = (90.0, 102.0)
FULL_POWER_W: Range = (410.0, 490.0)
PCI_BUSES = ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")
GFX_CLOCKS_MHZ: Range = (800.0, 1700.0)
MEM_CLOCK_MHZ = 1600
COOL_C, HOT_C = 42.0, 72.0

UNREADABLE = "the driver answered EOPNOTSUPP"


@dataclass(frozen=True)
class Clock:
    """The readings of a run in time: `seconds` `(F,)` each stands for, `bucket_s` `(P,)` of the timeline."""

    elapsed_s: int
    step_s: int
    seconds: Floats
    bucket_s: Floats

    @property
    def instants(self) -> Floats:
        """The middle of each reading as a share of the run `(F,)`."""
        return (np.cumsum(self.seconds) - self.seconds / 2) / self.elapsed_s


@dataclass(frozen=True)
class Readings:
    """What was read on every GPU of a node: busy percent in whole numbers `(F, G)`, memory by bucket `(P, G)`."""

    clock: Clock
    util: NDArray[np.int64]
    mem_gb: Floats
    peak_mem_gb: Floats


def clock_of(elapsed_s: int) -> Clock:
    """Buckets of a power of two seconds, as few doublings as keep the timeline within its limit.

    >>> clock_of(7200).step_s, clock_of(7200).bucket_s.size
    (32, 225)
    """
    step_s = 1
    while -(-elapsed_s // step_s) > TIMELINE_POINTS_MAX:
        step_s *= 2
    bucket_s = np.full(-(-elapsed_s // step_s), float(step_s))
    bucket_s[-1] = elapsed_s - step_s * (bucket_s.size - 1)
    readings = min(step_s, READINGS_PER_BUCKET_MAX)
    return Clock(elapsed_s, step_s, np.repeat(bucket_s / readings, readings), bucket_s)


def readings_of(clock: Clock, util_percent: Floats, peak_mem: Range, rng: np.random.Generator) -> Readings:
    """Readings from a curve `(F, G)`: whole percents, and memory that fills at the start of the work.

    A GPU without work holds next to nothing, whatever `peak_mem` the others reach.
    """
    util = np.rint(np.clip(util_percent, 0.0, 100.0)).astype(np.int64)
    gpus = util.shape[1]
    peak_gb = np.minimum(rng.uniform(*peak_mem) * rng.uniform(0.97, 1.0, gpus), MEMORY_TOTAL_GB)
    peak_gb = np.where(util.mean(axis=0) > IDLE_UTIL_PERCENT_MAX, peak_gb, rng.uniform(0.01, 0.3, gpus))
    x = (np.cumsum(clock.bucket_s) - clock.bucket_s / 2) / clock.elapsed_s
    filled = (1 - np.exp(-x / 0.02))[:, None] * rng.uniform(0.94, 1.0, (x.size, gpus))
    return Readings(clock, util, filled * peak_gb, peak_gb)


def node_summary(
    record: dict[str, Any],
    node: str,
    readings: Readings,
    *,
    gpu_ids: range,
    unreadable: int,
    cpu: dict[str, Any],
    rng: np.random.Generator,
    full_power_w: Range = FULL_POWER_W,
) -> dict[str, Any]:
    """The last summary of one node; the use of the last `unreadable` of its GPUs could not be read."""
    power_w = module_power_w(readings, gpu_ids, rng, full_power_w)
    gpus = [_gpu_summary(readings, index, gpu_id, power_w, rng) for index, gpu_id in enumerate(gpu_ids)]
    measured = len(gpus) - unreadable
    return {
        "schema": NODE_SUMMARY,
        "cluster": record["cluster"],
        "job_id": record["job_id"],
        "attempt": record["attempt"],
        "node": node,
        "sequence": 1 + readings.clock.elapsed_s // 3600,
        "final": True,
        "started_at": record["started_at"],
        "ended_at": record["ended_at"],
        "interval_s": INTERVAL_S,
        "collector_version": "1.0.0",
        "gpus": gpus[:measured] + [_without_use(gpu) for gpu in gpus[measured:]],
        "cpu": cpu,
        "errors": [f"gpu {gpu_id}: use not readable" for gpu_id in gpu_ids[measured:]],
    }


def cpu_summary(
    host: Host, *, cores: int, ranks: int, memory_gb: float, elapsed_s: int, rng: np.random.Generator
) -> dict[str, Any]:
    """The host side of one node; the four fractions are all there is of its allocated cores."""
    busy = float(rng.uniform(*host.busy_fraction))
    if host.busy_cores_per_rank is not None:
        busy = float(rng.uniform(*host.busy_cores_per_rank)) * ranks / cores
    system = round(busy * 0.08, 4)
    user = round(busy - system, 4)
    pressure = 0.05 * busy**4 if host.cpu_pressure_fraction is None else float(rng.uniform(*host.cpu_pressure_fraction))
    iowait = round(min(float(rng.uniform(*host.iowait_fraction)), 1 - user - system), 4)
    return {
        "cores_allocated": cores,
        "busy_cores_avg": round(cores * (user + system), 3),
        "user_fraction": user,
        "system_fraction": system,
        "iowait_fraction": iowait,
        "idle_fraction": round(1 - user - system - iowait, 4),
        "ranks": ranks,
        "threads_per_rank": 1.0 if host.busy_cores_per_rank else cores // ranks * host.threads_per_core,
        "peak_memory_gb": round(memory_gb * float(rng.uniform(*host.memory_fraction)), 2),
        "memory_limit_gb": memory_gb,
        "oom_kills": host.oom_kills,
        "pressure_cpu_s": round(elapsed_s * pressure, 1),
        "pressure_memory_s": round(elapsed_s * 0.02, 1) if host.oom_kills else 0.0,
        "pressure_io_s": round(elapsed_s * float(rng.uniform(*host.io_pressure_fraction)), 1),
        "missing": {},
    }


def module_power_w(
    readings: Readings, gpu_ids: range, rng: np.random.Generator, full_power_w: Range = FULL_POWER_W
) -> dict[int, Floats]:
    """Watts `(F,)` of every module of which the job held both GPUs, by the id of the primary one."""
    idle_w, full_w = float(rng.uniform(*IDLE_POWER_W)), float(rng.uniform(*full_power_w))
    busy = {gpu_id: readings.util[:, index] / 100 for index, gpu_id in enumerate(gpu_ids)}
    return {
        gpu_id: np.minimum(idle_w + (full_w - idle_w) * (busy[gpu_id] + busy[gpu_id + 1]) / 2, POWER_CAP_W)
        for gpu_id in gpu_ids
        if gpu_id % 2 == 0 and gpu_id + 1 in busy
    }


def _gpu_summary(
    readings: Readings, index: int, gpu_id: int, power_w: dict[int, Floats], rng: np.random.Generator
) -> dict[str, Any]:
    clock = readings.clock
    use = _use(clock, readings.util[:, index])
    busy = use["avg_util"] / 100
    return {
        "gpu_id": gpu_id,
        "module_id": gpu_id // 2,
        "pci_bus": f"0000:{PCI_BUSES[gpu_id]}:00.0",
        **use,
        **_memory(clock, readings.mem_gb[:, index], float(readings.peak_mem_gb[index])),
        "timeline": {
            "step_s": float(clock.step_s),
            "util": _by_bucket(clock, readings.util[:, index]).round(1).tolist(),
            "mem_gb": readings.mem_gb[:, index].round(2).tolist(),
        },
        "gfx_clock_mhz": round(float(np.interp(busy, (0.0, 0.5), GFX_CLOCKS_MHZ))),
        "mem_clock_mhz": MEM_CLOCK_MHZ,
        "temperature_peak_c": round(COOL_C + (HOT_C - COOL_C) * busy + float(rng.uniform(-2, 3)), 1),
        "throttled_s": 0.0,
        **_power(clock, gpu_id, power_w),
    }


def _use(clock: Clock, util: NDArray[np.int64]) -> dict[str, Any]:
    """Everything that says how busy one GPU was, from its histogram of seconds."""
    histogram_s = np.bincount(util, weights=clock.seconds, minlength=HISTOGRAM_BINS)
    idle_s = float(histogram_s[: int(IDLE_UTIL_PERCENT_MAX) + 1].sum())
    below_fraction = np.cumsum(histogram_s) / clock.elapsed_s
    return {
        "avg_util": round(float(histogram_s @ np.arange(HISTOGRAM_BINS)) / clock.elapsed_s, 3),
        # The slack is for the rounding of the running sum.
        "p95_util": float(np.argmax(below_fraction >= 0.95 - 1e-9)),
        "samples": round(clock.elapsed_s / INTERVAL_S),
        "measured_s": float(clock.elapsed_s),
        "active_s": round(clock.elapsed_s - idle_s, 3),
        "idle_s": round(idle_s, 3),
        "util_histogram_s": {str(bin_): round(float(histogram_s[bin_]), 3) for bin_ in np.flatnonzero(histogram_s)},
    }


def _memory(clock: Clock, mem_gb: Floats, peak_gb: float) -> dict[str, Any]:
    return {
        "peak_mem_gb": round(peak_gb, 3),
        "avg_mem_gb": round(float(mem_gb @ clock.bucket_s) / clock.elapsed_s, 3),
        "mem_total_gb": MEMORY_TOTAL_GB,
    }


def _by_bucket(clock: Clock, util: NDArray[np.int64]) -> Floats:
    """Mean of the readings of each bucket `(P,)`; all readings of one bucket stand for the same time."""
    return np.asarray(util.reshape(clock.bucket_s.size, -1).mean(axis=1), dtype=np.float64)


def _power(clock: Clock, gpu_id: int, power_w: dict[int, Floats]) -> dict[str, Any]:
    """Power and energy of a whole module, as only its primary GPU reports them; why there are none of a shared one."""
    missing = {"pcie_bandwidth": "unsupported"}
    watts = power_w.get(gpu_id)
    if watts is None:
        is_told_by_primary = gpu_id % 2 == 1 and gpu_id - 1 in power_w
        return {"missing": missing if is_told_by_primary else missing | {"power": "shared module"}}
    average_w = round(float(watts @ clock.seconds) / clock.elapsed_s, 1)
    return {
        "power_avg_w": average_w,
        "power_peak_w": round(float(watts.max()), 1),
        "power_cap_w": POWER_CAP_W,
        "energy_j": round(average_w * clock.elapsed_s, 1),
        "missing": missing,
    }


USE_FIELDS = frozenset("avg_util p95_util samples measured_s active_s idle_s util_histogram_s".split())


def _without_use(gpu: dict[str, Any]) -> dict[str, Any]:
    """The same GPU when its busy percent could not be read: absent, a gap in the timeline, and named."""
    rest = {name: value for name, value in gpu.items() if name not in USE_FIELDS}
    timeline = gpu["timeline"] | {"util": [None] * len(gpu["timeline"]["util"])}
    return rest | {"timeline": timeline, "missing": gpu["missing"] | {"avg_util": UNREADABLE}}
