"""The inspector's shape of a node: a busy counter read now and then, memory, module power and host numbers.

Shapes: T samples `step_s` apart, G GPUs, M modules. The busy counter is what a driver shows: a filter of some tenths of
a second over kernels that come and go (../shared/facts/amd-gpus.md), so that a step of seconds reads as 0 or 100.
Idle module 82 to 102 W, busy 300 W with one die and up to 500 W with two: ../shared/facts/lumi.md.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cases.drawing import Described, Draw, FieldsOfGpu, Table, fields_by_gpu
from cases.readings import Floats, Node

Bools = NDArray[np.bool_]

COUNTER_FILTER_S = 0.4
BUSY_LEVEL_PERCENT = 98.0
# Two GPUs with the same work are never quite equal: about one point and a half of a hundred.
GPU_SPREAD = 0.012
START_LAG_S = (1.0, 6.0)


class Work(Described, frozen=True):
    """What one GPU does: `parts` are (share of the run, busy share of that time); the shares add up to 1.

    `pause` is (seconds between starts, seconds long, busy share in it). `cycle_s` is one training step.
    """

    parts: tuple[tuple[float, float], ...]
    pause: tuple[float, float, float] | None = None
    cycle_s: float = 1.3


class Host(Described, frozen=True):
    """The host side of one node; shares are of the run's time, NaN is "not read"."""

    cores: int
    busy: float
    memory_gb: float
    limit_gb: float
    ranks: int
    threads: float = 1.0
    cpu_wait: float = 0.01
    io_wait: float = 0.01
    iowait_fraction: float = 0.004
    oom_kills: int = 0
    missing: dict[str, str] = {}


class Device(Described, frozen=True):
    """A GPU model: memory, power cap and full draw of one module in W, GPUs of a module."""

    memory_gb: float = 63.98
    cap_w: float = 500.0
    full_w: float = 435.0
    idle_w: float = 91.0
    per_module: int = 2


MI250X = Device()


class Shape(Described, frozen=True):
    """One node of a run of `used_s` seconds: what each GPU does and holds; `power_factor` scales what they draw."""

    used_s: float
    works: tuple[Work, ...]
    memory_gb: float | tuple[float, ...]
    host: Host | None = None
    ids: tuple[int, ...] = ()
    step_s: float = 2.0
    device: Device = MI250X
    has_power: bool = True
    power_factor: float = 1.0
    lost: float = 0.004
    throttled: float = 0.0
    name: str = ""
    fields: tuple[FieldsOfGpu, ...] = ()
    errors: tuple[str, ...] = ()


def drawn(drawing: Table) -> Draw:
    shapes = msgspec.convert(drawing["nodes"], tuple[Shape, ...])
    return lambda rng: [_node(rng, shape) for shape in shapes]


def _node(rng: np.random.Generator, shape: Shape) -> Node:
    samples = max(3, int((shape.used_s - rng.uniform(*START_LAG_S)) / shape.step_s))
    util = np.column_stack([_counter(rng, work, samples, shape.step_s) for work in shape.works])
    gpus, device = len(shape.works), shape.device
    peaks_gb = shape.memory_gb if isinstance(shape.memory_gb, tuple) else (shape.memory_gb,) * gpus
    memory = np.column_stack([_memory(rng, samples, peak_gb) for peak_gb in peaks_gb])
    gpu_ids = shape.ids or tuple(range(gpus))
    power = _power(rng, util, gpu_ids, device, shape.power_factor) if shape.has_power else None
    gaps = _gaps(rng, samples, shape.lost)
    util[gaps], memory[gaps] = np.nan, np.nan
    cpu = _host(rng, shape.host, shape.used_s) if shape.host else None
    return Node(
        util, memory, power, cpu, gpu_ids, shape.step_s, device.memory_gb, device.cap_w, device.per_module,
        shape.throttled, shape.name, shape.errors, fields_by_gpu(shape.fields),
    )  # fmt: skip


def _counter(rng: np.random.Generator, work: Work, samples: int, step_s: float) -> Floats:
    """(T,) Busy percent as read: the share of the filter's window in which a kernel ran."""
    duty = _duty(rng, work, samples, step_s)
    pace = step_s / work.cycle_s * (1 + 0.07 * rng.standard_normal(samples))
    begins = np.cumsum(pace) + rng.uniform(0, 1)
    window = COUNTER_FILTER_S / work.cycle_s
    share = (_busy_until(begins + window, duty) - _busy_until(begins, duty)) / window
    level = np.minimum(100.0, BUSY_LEVEL_PERCENT + 1.4 * rng.standard_normal(samples))
    return np.clip(share * level, 0.0, 100.0)


def _busy_until(cycles: Floats, duty: Floats) -> Floats:
    whole = np.floor(cycles)
    return whole * duty + np.minimum(cycles - whole, duty)


def _duty(rng: np.random.Generator, work: Work, samples: int, step_s: float) -> Floats:
    """(T,) The planned busy share, with slow drift of about one point and pauses that come a little early or late."""
    ends = np.cumsum([share for share, _ in work.parts]) * samples
    which = np.minimum(np.searchsorted(ends, np.arange(samples), side="right"), len(work.parts) - 1)
    duty = np.array([part for _, part in work.parts])[which]
    drift = np.interp(np.arange(samples), np.linspace(0, samples, 9), 0.01 * rng.standard_normal(9))
    pace = rng.normal(1.0, GPU_SPREAD)
    duty = np.where(duty > 0, np.clip(duty * pace + drift, 0, 1), 0.0)
    if work.pause:
        every_s, for_s, inside = work.pause
        wander = np.interp(np.arange(samples), np.linspace(0, samples, 12), 0.04 * rng.standard_normal(12))
        place = (np.arange(samples) * step_s / every_s + wander + 0.3) % 1
        duty = np.where((place > 1 - for_s / every_s) & (duty > 0), inside, duty)
    return duty


def _memory(rng: np.random.Generator, samples: int, peak_gb: float) -> Floats:
    """(T,) Weights within the first two percent, then an allocator that grows in a few steps and keeps what it has."""
    time = np.linspace(0, 1, samples)
    levels = peak_gb * np.array([0.02, 0.55, 0.84, 0.93, 0.985])
    steps = np.sort(np.concatenate(([0.0, 0.008, 0.02], rng.uniform(0.03, 0.6, 2))))
    grown = levels[np.searchsorted(steps, time, side="right") - 1]
    return np.minimum(peak_gb, grown + 0.004 * peak_gb * np.abs(rng.standard_normal(samples)))


def _power(rng: np.random.Generator, util: Floats, ids: tuple[int, ...], device: Device, factor: float) -> Floats:
    """(T, M) Watts of the modules: idle draw, and for each die its busy share, slowed by the package's own filter."""
    modules = sorted({gpu // device.per_module for gpu in ids})
    die_w = (device.full_w - device.idle_w) * factor / device.per_module
    watts = np.full((util.shape[0], len(modules)), device.idle_w) + 4 * rng.standard_normal((util.shape[0], 1))
    for column, gpu in enumerate(ids):
        watts[:, modules.index(gpu // device.per_module)] += die_w * util[:, column] / 100
    smooth = np.apply_along_axis(lambda column: np.convolve(column, (0.25, 0.5, 0.25), "same"), 0, watts)
    return np.maximum(device.idle_w * 0.9, smooth * rng.normal(1.0, 0.02, len(modules)))


def _gaps(rng: np.random.Generator, samples: int, lost: float) -> Bools:
    """(T,) Samples that never came, a few in a row: a daemon that waited for the SMU or for a core."""
    is_lost = np.zeros(samples, dtype=bool)
    for start in rng.integers(0, samples, int(samples * lost / 3)):
        is_lost[start : start + 3] = True
    return is_lost


def _host(rng: np.random.Generator, host: Host, used_s: float) -> dict[str, Any]:
    busy = min(host.cores * 0.995, host.busy * rng.normal(1.0, 0.012))
    share = busy / host.cores
    waits = {"pressure_cpu_s": host.cpu_wait, "pressure_io_s": host.io_wait}
    system = share * rng.uniform(0.06, 0.12)
    return {
        "cores_allocated": host.cores,
        "busy_cores_avg": round(busy, 2),
        "user_fraction": round(share - system, 4),
        "system_fraction": round(system, 4),
        "iowait_fraction": round(min(host.iowait_fraction, 1 - share), 4),
        "idle_fraction": round(max(0.0, 1 - share - host.iowait_fraction), 4),
        "ranks": host.ranks,
        "threads_per_rank": host.threads,
        "peak_memory_gb": round(min(host.limit_gb, host.memory_gb * rng.normal(1.0, 0.01)), 1),
        "memory_limit_gb": host.limit_gb,
        "oom_kills": host.oom_kills,
        "pressure_memory_s": 0.0,
        **{name: round(wait * used_s * rng.uniform(0.95, 1.05), 1) for name, wait in waits.items() if wait == wait},
        "missing": dict(host.missing),
    }
