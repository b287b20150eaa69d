"""The shape of machine-learning runs: phases of work become samples of busy percent, GPU memory and module power.

Shapes: T samples, G GPUs of the node, M modules. Watts: an MI250X module idles at 85-100 W, with one truly busy GPU it
draws 250-300 W, with two 380-490 W, with two memory-bound ones 300-350 W, with two that spin in a collective 110-180 W.
"""

from __future__ import annotations

import msgspec
import numpy as np

from cases.drawing import Described, Draw, Table
from cases.readings import Floats, Node

PerGpu = float | tuple[float, ...]

# What a fully busy GPU adds to its module's power as it computes; bound by memory it adds 114 W, spinning 22 W.
COMPUTE_W = 168.0
IDLE_MODULE_W = 91.0
# GPU memory of a process that has opened the GPU and done nothing yet, and of a GPU that nobody opened.
CONTEXT_GB, UNUSED_GB = 0.6, 0.05


class Part(Described, frozen=True):
    """A phase: its share of the run, the busy percent of the GPUs meanwhile, watts per busy GPU, memory in use."""

    share: float
    busy: PerGpu
    heat_w: PerGpu = COMPUTE_W
    gb: PerGpu | None = None


class Host(Described, frozen=True):
    """The node's host side: mean busy cores of those allocated, and shares of the run under pressure."""

    busy: float
    cores: int
    ranks: int
    peak_gb: float
    limit_gb: float
    threads: float = 1.0
    iowait: float = 0.004
    io_pressure: float = 0.006
    cpu_pressure: float = 0.01
    memory_pressure: float = 0.0
    system_share: float = 0.1
    oom_kills: int = 0


class Shape(Described, frozen=True):
    """One node of a run. `starts` and `stops` are each GPU's own first and last share of the run; dips hit all GPUs."""

    used_s: float
    gpus: int
    parts: tuple[Part, ...]
    gb: PerGpu
    host: Host | None = None
    samples: int = 1300
    dip_every_s: float = 0.0
    dip_length_s: float = 0.0
    dip_to: float = 0.0
    grain: float = 0.4
    spread: float = 1.5
    stagger_s: float = 6.0
    starts: tuple[float, ...] = ()
    stops: tuple[float, ...] = ()
    creep_gb: float = 0.0
    has_power: bool = True
    gpu_ids: tuple[int, ...] = ()
    late_clock_s: float = 0.0
    lost_fraction: float = 0.004
    throttled_fraction: float = 0.0

    @property
    def step_s(self) -> float:
        return max(1.0, float(round(self.used_s / self.samples)))


def drawn(drawing: Table) -> Draw:
    """The nodes of one run; they share the times of phases and dips, and nothing else."""
    shapes = msgspec.convert(drawing["nodes"], tuple[Shape, ...])

    def draw(rng: np.random.Generator) -> list[Node]:
        timing = int(rng.integers(2**31))
        return [_node(rng, np.random.default_rng(timing), shape) for shape in shapes]

    return draw


def _node(rng: np.random.Generator, timing: np.random.Generator, shape: Shape) -> Node:
    count = int(shape.used_s / shape.step_s)
    times_s: Floats = np.arange(0.5, count, 1.0, dtype=np.float64) * np.float64(shape.step_s)
    level, heat_w, gb = _phases(rng, timing, shape, times_s)
    level = _dipped(timing, shape, times_s, level)
    util = _sampled(rng, level, shape)
    ids = shape.gpu_ids or tuple(range(shape.gpus))
    power_w = _module_power(rng, util, heat_w, ids) if shape.has_power else None
    mem_gb = _memory(rng, gb, shape)
    is_lost = _lost(rng, shape, times_s)
    util[is_lost] = np.nan
    mem_gb[is_lost] = np.nan
    return Node(
        util,
        mem_gb,
        power_w,
        _cpu(rng, shape.host, shape.used_s) if shape.host else None,
        gpu_ids=shape.gpu_ids,
        step_s=shape.step_s,
        throttled_fraction=shape.throttled_fraction,
    )


def _phases(
    rng: np.random.Generator, timing: np.random.Generator, shape: Shape, times_s: Floats
) -> tuple[Floats, Floats, Floats]:
    """Wanted busy percent, watts per busy GPU and memory, each (T, G); phase borders differ by seconds between GPUs."""
    shares = np.array([part.share for part in shape.parts]) * timing.normal(1.0, 0.04, len(shape.parts))
    borders_s = np.cumsum(shares / shares.sum())[:-1, None] * shape.used_s
    borders_s = borders_s + rng.normal(0.0, shape.stagger_s, (1, shape.gpus))
    phase = np.sum(times_s[:, None, None] > borders_s[None, :, :], axis=1)
    gpu = np.arange(shape.gpus)[None, :]
    level = np.array([_per_gpu(part.busy, shape.gpus) for part in shape.parts])[phase, gpu]
    heat_w = np.array([_per_gpu(part.heat_w, shape.gpus) for part in shape.parts])[phase, gpu]
    own = _per_gpu(shape.gb, shape.gpus)
    wanted_gb = [_per_gpu(part.gb, shape.gpus) if part.gb is not None else own for part in shape.parts]
    gb = np.array(wanted_gb)[phase, gpu]
    has_begun = np.cumsum(level > 0, axis=0) > 0
    is_resident = has_begun | np.array([part.gb is not None for part in shape.parts])[phase] | (level.max(axis=0) == 0)
    gb = np.where(is_resident, gb, np.minimum(gb, CONTEXT_GB))
    edges = (shape.starts or (0.0,) * shape.gpus, shape.stops or (1.0,) * shape.gpus)
    share = times_s[:, None] / shape.used_s
    is_on = (share >= np.array(edges[0])) & (share <= np.array(edges[1]))
    return np.where(is_on, level, 0.0), heat_w, np.where(is_on, gb, UNUSED_GB)


def _per_gpu(value: PerGpu, gpus: int) -> Floats:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (gpus,))


def _dipped(timing: np.random.Generator, shape: Shape, times_s: Floats, level: Floats) -> Floats:
    """All GPUs fall together, at intervals and for lengths that vary."""
    if not shape.dip_every_s:
        return level
    at_s = shape.dip_every_s * timing.uniform(0.6, 1.0)
    while at_s < shape.used_s:
        length_s = shape.dip_length_s * timing.uniform(0.75, 1.35)
        is_dip = (times_s >= at_s) & (times_s < at_s + length_s)
        level = np.where(is_dip[:, None], np.minimum(level, shape.dip_to), level)
        at_s += shape.dip_every_s * timing.normal(1.0, 0.06)
    return level


def _sampled(rng: np.random.Generator, level: Floats, shape: Shape) -> Floats:
    """Readings: partly all or nothing, partly around the level, with slow drift and a constant offset of each GPU."""
    count, gpus = level.shape
    knots = rng.normal(0.0, 2.0, 14)
    drift = np.interp(np.linspace(0.0, 13.0, count), np.arange(14), knots)[:, None]
    room = np.minimum(1.0, (100.0 - level) / 15.0 + 0.05) * np.minimum(1.0, level / 15.0)
    wanted = np.clip(level + (drift + rng.normal(0.0, shape.spread, gpus)) * room, 0.0, 100.0)
    is_shared = rng.random((count, 1)) < 0.6
    coin = np.where(is_shared, rng.random((count, 1)), rng.random((count, gpus)))
    smooth = wanted + rng.normal(0.0, 6.0, (count, gpus)) * room
    util = np.where(rng.random((count, gpus)) < shape.grain, 100.0 * (coin < wanted / 100.0), smooth)
    is_stray = (level == 0) & (rng.random((count, gpus)) < 1.2 / count)
    util = np.where(is_stray, rng.uniform(2.0, 45.0, (count, gpus)), util)
    return np.clip(np.rint(util), 0.0, 100.0)


def _module_power(rng: np.random.Generator, util: Floats, heat_w: Floats, ids: tuple[int, ...]) -> Floats:
    modules = sorted({gpu_id // 2 for gpu_id in ids})
    watts = util / 100.0 * heat_w
    columns = [watts[:, [gpu_id // 2 == module for gpu_id in ids]].sum(axis=1) for module in modules]
    idle_w = rng.normal(IDLE_MODULE_W, 3.0, len(modules))
    noise_w = rng.normal(0.0, 9.0, (util.shape[0], len(modules)))
    return np.clip(np.stack(columns, axis=1) * rng.normal(1.0, 0.02) + idle_w + noise_w, 80.0, 505.0)


def _memory(rng: np.random.Generator, gb: Floats, shape: Shape) -> Floats:
    """Memory fills over some samples, creeps by `creep_gb` in all, and wobbles a little."""
    count, gpus = gb.shape
    creep = np.linspace(0.0, shape.creep_gb, count)[:, None] * (gb > CONTEXT_GB)
    wobble = np.repeat(rng.normal(0.0, 0.12, (count // 20 + 1, gpus)), 20, axis=0)[:count]
    return np.clip(gb + creep + wobble * (gb > 1.0), 0.0, 63.95)


def _lost(rng: np.random.Generator, shape: Shape, times_s: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Lost samples: single ones, a burst of all GPUs, one GPU that misses 2-8 %, and a clock that started late."""
    count = times_s.size
    is_lost = rng.random((count, shape.gpus)) < shape.lost_fraction
    burst = int(rng.integers(0, max(1, count - 12)))
    is_lost[burst : burst + int(rng.integers(0, 12))] = True
    unlucky = int(rng.integers(shape.gpus))
    is_lost[:, unlucky] |= rng.random(count) < rng.uniform(0.02, 0.08)
    is_lost[times_s < shape.late_clock_s] = True
    return is_lost


def _cpu(rng: np.random.Generator, host: Host, used_s: float) -> dict[str, float]:
    busy = min(host.cores * 0.998, host.busy * float(rng.normal(1.0, 0.015)))
    iowait = min(max(0.0, 1.0 - busy / host.cores), host.iowait * float(rng.uniform(0.85, 1.2)))
    system = busy * host.system_share / host.cores
    return {
        "cores_allocated": host.cores,
        "busy_cores_avg": round(busy, 3),
        "user_fraction": round(busy / host.cores - system, 4),
        "system_fraction": round(system, 4),
        "iowait_fraction": round(iowait, 4),
        "idle_fraction": round(max(0.0, 1.0 - busy / host.cores - iowait), 4),
        "ranks": host.ranks,
        "threads_per_rank": host.threads,
        "peak_memory_gb": round(min(host.limit_gb, host.peak_gb * float(rng.uniform(0.98, 1.02))), 2),
        "memory_limit_gb": host.limit_gb,
        "oom_kills": host.oom_kills,
        "pressure_cpu_s": round(used_s * host.cpu_pressure * float(rng.uniform(0.8, 1.2)), 1),
        "pressure_memory_s": round(used_s * host.memory_pressure * float(rng.uniform(0.8, 1.2)), 1),
        "pressure_io_s": round(min(used_s, used_s * host.io_pressure * float(rng.uniform(0.85, 1.15))), 1),
    }
