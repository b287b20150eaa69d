"""The shape of a node in the cases about requests and endings of runs.

Shapes: T samples, G GPUs, M modules. Busy is percent, memory GB of 2^30 bytes, power W of one module, times within a
run are fractions of it. Readings jump between 0 and 100, starts are staggered, samples get lost, hosts are not round.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from cases.drawing import Described, Draw, FieldsOfGpu, Table, fields_by_gpu
from cases.readings import Floats, Node

Rng = np.random.Generator


class Site(Described, frozen=True):
    """One kind of GPU: capacity, power cap and idle power of a module, and the GPUs that share its power reading."""

    mem_total_gb: float
    power_cap_w: float
    idle_w: float
    gpus_per_module: int


# LUMI samples of rocm-smi: idle module 82-102 W, cap 500 W.
LUMI = Site(mem_total_gb=63.98, power_cap_w=500.0, idle_w=92.0, gpus_per_module=2)


class Load(Described, frozen=True):
    """What the GPUs of one node did: percent while at work and memory in GB for each GPU, from `start` to `end`.

    `watts` is what one truly busy GPU adds to its module (about 172 W on MI250X, 25 W when its kernels only spin).
    `last_gb` is what each GPU reaches in the last moments, where something special happens there.
    """

    percent: tuple[float, ...]
    mem_gb: tuple[float, ...]
    start: float = 0.02
    end: float = 1.0
    is_pulsing: bool = False
    dips: int = 6
    creep_gb: float = 0.0
    swing_gb: float = 0.4
    keeps_memory: bool = True
    watts: float = 172.0
    last_gb: tuple[float, ...] = ()


class Seen(Described, frozen=True):
    """What was read of a node and what was not; `lost` bounds the share of samples that one GPU lacks."""

    steps: int = 0
    gpu_ids: tuple[int, ...] = ()
    has_power: bool = True
    late_clock: float = 0.0
    lost: tuple[float, float] = (0.02, 0.08)
    site: Site = LUMI
    name: str = ""
    errors: tuple[str, ...] = ()
    fields: tuple[FieldsOfGpu, ...] = ()


ALL_SEEN = Seen()


class Host(Described, frozen=True):
    """The host of a node: busy physical cores, peak memory in GB, and `waits_s`, the seconds in which tasks waited for
    cores, memory and I/O. `fixed` are fields of the payload that are no matter of chance."""

    busy_cores: float
    memory_gb: float
    cores: int = 56
    limit_gb: float = 480.0
    ranks: int = 8
    threads: float = 7.0
    iowait: float = 0.004
    oom_kills: int = 0
    waits_s: tuple[float, float, float] = (2.0, 0.0, 4.0)
    fixed: dict[str, float] = {}


class Bursts(Described, frozen=True):
    """Short spells of work instead of a load's: how many, how long as a share of the run, within how many samples."""

    steps: tuple[int, int]
    count: int
    length: float


class Shape(Described, frozen=True):
    """One node of a run of `used_s` seconds."""

    used_s: float
    load: Load
    host: Host | None = None
    seen: Seen = ALL_SEEN
    bursts: Bursts | None = None


def drawn(drawing: Table) -> Draw:
    shapes = msgspec.convert(drawing["nodes"], tuple[Shape, ...])
    return lambda rng: [node(rng, shape) for shape in shapes]


def node(rng: Rng, shape: Shape) -> Node:
    """One node, drawn with all its noise."""
    spells = bursts(rng, len(shape.load.percent), shape.bursts) if shape.bursts else None
    cpu = host(rng, shape.host) if shape.host else None
    if spells is not None:
        return from_util(rng, shape.used_s, spells, shape.load, cpu, shape.seen)
    steps = shape.seen.steps or min(int(shape.used_s), int(rng.integers(900, 1900)))
    return from_util(rng, shape.used_s, busy(rng, steps, shape.load), shape.load, cpu, shape.seen)


def from_util(
    rng: Rng, used_s: float, util: Floats, load: Load, cpu: dict[str, Any] | None, seen: Seen = ALL_SEEN
) -> Node:
    """The same for a busy curve `(T, G)` that the case drew itself."""
    mem_gb = memory(rng, len(util), load)
    watts = power(rng, util, load.watts, seen) if seen.has_power else None
    is_lost = losses(rng, util.shape, seen)
    return Node(
        util=np.where(is_lost, np.nan, util),
        mem_gb=np.where(is_lost, np.nan, mem_gb),
        power_w=watts,
        cpu=cpu,
        gpu_ids=seen.gpu_ids,
        step_s=used_s / len(util),
        mem_total_gb=seen.site.mem_total_gb,
        power_cap_w=seen.site.power_cap_w,
        gpus_per_module=seen.site.gpus_per_module,
        name=seen.name,
        errors=seen.errors,
        fields=fields_by_gpu(seen.fields),
    )


def busy(rng: Rng, steps: int, load: Load) -> Floats:
    """Busy percent `(T, G)`: quiet with a few strays before the start and after the end, noisy work between."""
    util = quiet(rng, steps, len(load.percent))
    dips = _dips(rng, steps, load.dips)
    for index, percent in enumerate(load.percent):
        if percent <= 0:
            continue
        begin = int(load.start * steps * rng.uniform(0.9, 1.15)) + int(rng.integers(0, 4))
        stop = steps if load.end >= 1 else int(load.end * steps * rng.uniform(0.985, 1.015))
        work = pulsing(rng, steps, percent) if load.is_pulsing else steady(rng, steps, percent)
        util[begin:stop, index] = (work * dips)[begin:stop]
    return util


def steady(rng: Rng, steps: int, percent: float) -> Floats:
    """Work that keeps near one level, with slow drift, jitter and single readings that fall out of line."""
    level = percent + rng.normal(0, 0.8) + 1.5 * slow(rng, steps)
    util = level + rng.normal(0, 3.0, steps)
    falls = rng.random(steps) < 0.015
    util[falls] *= rng.uniform(0, 0.7, int(falls.sum()))
    return np.clip(util, 0, 100)


def pulsing(rng: Rng, steps: int, percent: float) -> Floats:
    """Work whose readings are near 100 or near 0, with the asked mean."""
    share = np.clip(percent / 97 + 0.04 * slow(rng, steps), 0, 1)
    return np.where(rng.random(steps) < share, rng.uniform(93, 100, steps), rng.uniform(0, 2.5, steps) ** 2 / 4)


def quiet(rng: Rng, steps: int, gpus: int) -> Floats:
    """Idle GPUs: zeros and, now and then, one stray reading."""
    util = np.zeros((steps, gpus))
    for index in range(gpus):
        strays = rng.integers(0, steps, int(rng.integers(0, 3)))
        util[strays, index] = rng.uniform(1, 35, len(strays))
    return util


def bursts(rng: Rng, gpus: int, spells: Bursts) -> Floats:
    """Short spells of work spread evenly over a run, as a person at a notebook makes them."""
    steps, count = int(rng.integers(*spells.steps)), spells.count
    util = quiet(rng, steps, gpus)
    for number in range(count):
        begin = int(steps * (number + rng.uniform(0.15, 0.6)) / count)
        stop = min(steps, begin + max(2, int(steps * spells.length * rng.uniform(0.7, 1.3))))
        for index in range(gpus):
            util[begin:stop, index] = steady(rng, steps, 93.0)[begin:stop]
    return util


def slow(rng: Rng, steps: int) -> Floats:
    """Smooth noise of about unit size."""
    width = max(4, steps // 12)
    raw = np.convolve(rng.normal(size=steps + width - 1), np.ones(width) / np.sqrt(width), mode="valid")
    return np.asarray(raw[:steps], dtype=np.float64)


def _dips(rng: Rng, steps: int, count: int) -> Floats:
    """Factor 1, and less in the short spells in which all GPUs of a node validate or write a checkpoint."""
    factor = np.ones(steps)
    for number in range(count):
        begin = int(steps * (number + rng.uniform(0.6, 0.95)) / max(count, 1))
        stop = begin + max(1, int(steps * rng.uniform(0.002, 0.006)))
        factor[begin:stop] = rng.uniform(0.05, 0.6)
    return factor


def memory(rng: Rng, steps: int, load: Load) -> Floats:
    """Memory `(T, G)`: fills within moments of the start, swings, creeps; kept or given back after the end."""
    moments = np.arange(steps)
    columns = []
    for index, level_gb in enumerate(load.mem_gb):
        begin = load.start * steps * rng.uniform(0.7, 0.95)
        filling = np.clip((moments - begin) / max(3.0, 0.01 * steps), 0, 1)
        held = level_gb + load.creep_gb * moments / steps + load.swing_gb * rng.normal(0, 0.5, steps)
        column = np.maximum(0.011, filling * held) if level_gb > 0.5 else np.full(steps, max(level_gb, 0.011))
        if load.last_gb:
            last = max(3, steps // 60)
            column[-last:] = np.maximum(column[-last:], load.last_gb[index] - rng.uniform(0, 0.15, last))
        if load.end < 1 and not load.keeps_memory:
            column[int(load.end * steps) :] = 0.011
        columns.append(column)
    return np.stack(columns, axis=1)


def power(rng: Rng, util: Floats, watts: float, seen: Seen) -> Floats:
    """Power `(T, M)` of the modules that the job's GPUs sit on."""
    ids = seen.gpu_ids or tuple(range(util.shape[1]))
    modules = sorted({number // seen.site.gpus_per_module for number in ids})
    columns = []
    for module in modules:
        own = [index for index, number in enumerate(ids) if number // seen.site.gpus_per_module == module]
        idle_w = seen.site.idle_w * rng.uniform(0.94, 1.06)
        columns.append(idle_w + util[:, own].sum(axis=1) / 100 * watts * rng.uniform(0.96, 1.04))
    noisy = np.stack(columns, axis=1) + rng.normal(0, 4, (len(util), len(modules)))
    return np.clip(noisy, 0.9 * seen.site.idle_w, 1.05 * seen.site.power_cap_w)


def losses(rng: Rng, shape: tuple[int, ...], seen: Seen) -> NDArray[np.bool_]:
    """Which samples `(T, G)` are missing: a late clock, a burst on the whole node, single ones on one GPU."""
    steps, gpus = shape
    is_lost = np.zeros((steps, gpus), dtype=np.bool_)
    is_lost[: int(seen.late_clock * steps)] = True
    if rng.random() < 0.4:
        begin = int(rng.integers(0, steps))
        is_lost[begin : begin + max(1, int(steps * rng.uniform(0.003, 0.015)))] = True
    one = int(rng.integers(0, gpus))
    is_lost[:, one] |= rng.random(steps) < rng.uniform(*seen.lost)
    return is_lost


def host(rng: Rng, host: Host) -> dict[str, Any]:
    """The `cpu` object of a node."""
    cores = host.cores
    busy_now = min(cores * 0.995, host.busy_cores * rng.uniform(0.96, 1.04))
    share = busy_now / cores
    system = share * rng.uniform(0.06, 0.14)
    waiting = min(host.iowait * rng.uniform(0.8, 1.2), 1 - share)
    cpu_s, memory_s, io_s = (round(value * rng.uniform(0.8, 1.2), 1) for value in host.waits_s)
    return {
        "cores_allocated": cores,
        "busy_cores_avg": round(busy_now, 2),
        "user_fraction": round(share - system, 4),
        "system_fraction": round(system, 4),
        "iowait_fraction": round(waiting, 4),
        "idle_fraction": round(max(0.0, 1 - share - waiting), 4),
        "ranks": host.ranks,
        "threads_per_rank": host.threads,
        "peak_memory_gb": round(min(host.limit_gb, host.memory_gb * rng.uniform(0.97, 1.03)), 2),
        "memory_limit_gb": host.limit_gb,
        "oom_kills": host.oom_kills,
        "pressure_cpu_s": cpu_s,
        "pressure_memory_s": memory_s,
        "pressure_io_s": io_s,
        **host.fixed,
    }
