"""The examiner's shape of a node: a GPU is a queue of batches, read once in a while through a short driver average.

The busy counter is not drawn as "level plus noise". Batches with their own lengths and gaps are laid out in time, and
each sample is what the driver's window before it saw of them: long batches read 0 or 100, short ones read their share.
Window and flatness follow the AMD notes on `average_gfx_activity` (facts/amd-gpus.md) and the shared real traces.
Shapes: T samples, G GPUs, M modules. A load is a fraction of time with kernels, 0..1, shape (T,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from cases.drawing import Described, Draw, FieldsOfGpu, Table, fields_by_gpu
from cases.readings import Floats, Node

# Watt of an MI250X module at rest (rocm-smi on LUMI-G, facts/lumi.md section 1) and of an A100 SXM at rest.
REST_W = 90.0
# Share of batches by which one batch's kernel time differs from the next (real traces: 2 to 6 %).
BATCH_JITTER = 0.04


class Span(Described, frozen=True):
    """The measured time of a run, and how often it was read."""

    hours: float
    step_s: float = 1.0

    @property
    def size(self) -> int:
        return round(self.hours * 3600 / self.step_s)


class Pace(Described, frozen=True):
    """A process's batches: mean length, sigma of its logarithm, and the driver's averaging window."""

    batch_s: float = 0.6
    sigma: float = 0.25
    window_s: float = 0.7


class Setup(Described, frozen=True):
    """What differs from a LUMI-G node, and how the samples suffered."""

    has_power: bool = True
    die_w: float = 190.0  # watt that one fully busy GPU adds to its module
    rest_w: float = REST_W
    cap_w: float = 500.0
    capacity_gb: float = 63.98
    gpus_per_module: int = 2
    gpu_ids: tuple[int, ...] = ()
    lost_fraction: float = 0.004
    offset_s: float = 4.0  # by which the GPUs of one node start apart
    fill_s: float = 240.0
    throttled_fraction: float = 0.0
    fields: tuple[FieldsOfGpu, ...] = ()


MI250X = Setup()
HALF_MODULE = Setup(has_power=False)


class Pauses(Described, frozen=True):
    every_s: float
    lasting_s: float
    to: float = 0.0


class Wander(Described, frozen=True):
    fraction: float
    over_s: float = 900.0


class Load(Described, frozen=True):
    """What a GPU has to do: `stages`, or the load that the nodes share; the last stage's level times a number from the
    range `scatter`; recurring pauses; a slow drift. `gpus` of the node have the very same load."""

    stages: tuple[tuple[float, float], ...] = ()
    is_shared: bool = False
    scatter: tuple[float, float] | None = None
    pauses: Pauses | None = None
    wander: Wander | None = None
    gpus: int = 1


class Shape(Described, frozen=True):
    """One node. Its host is drawn before its loads where it stands before them."""

    loads: tuple[Load, ...]
    peaks_gb: tuple[float, ...]
    pace: Pace = Pace()
    host: dict[str, Any] = {}
    setup: Setup = MI250X


class Run(Described, frozen=True):
    """The nodes of a run, and the load that several of them share."""

    hours: float
    nodes: tuple[Shape, ...]
    step_s: float = 1.0
    shared: Load | None = None


def drawn(drawing: Table) -> Draw:
    run = msgspec.convert(drawing, Run)
    span = Span(run.hours, run.step_s)
    is_host_first = [next(iter(table)) == "host" for table in drawing["nodes"]]

    def draw(rng: np.random.Generator) -> list[Node]:
        shared = _load(rng, span, run.shared, None) if run.shared else None
        return [_drawn(rng, span, *one, shared) for one in zip(run.nodes, is_host_first, strict=True)]

    return draw


def _drawn(rng: np.random.Generator, span: Span, shape: Shape, is_host_first: bool, shared: Floats | None) -> Node:
    cpu = host(rng, **shape.host) if is_host_first else None
    loads = [one for load in shape.loads for one in [_load(rng, span, load, shared)] * load.gpus]
    if shape.host and not is_host_first:
        cpu = host(rng, **shape.host)
    return node(rng, span, loads, shape.peaks_gb, shape.pace, cpu, shape.setup)


def _load(rng: np.random.Generator, span: Span, load: Load, shared: Floats | None) -> Floats:
    if load.is_shared and shared is not None:
        level = shared
    else:
        (share, last), scatter = load.stages[-1], rng.uniform(*load.scatter) if load.scatter else 1.0
        level = stages(span, *load.stages[:-1], (share, last * scatter))
    if load.pauses:
        level = pauses(rng, span, level, load.pauses.every_s, load.pauses.lasting_s, load.pauses.to)
    return wander(rng, span, level, load.wander.fraction, load.wander.over_s) if load.wander else level


def stages(span: Span, *parts: tuple[float, float]) -> Floats:
    """Loads one after another, each for a share of the run; the last one lasts to the end."""
    load = np.full(span.size, parts[-1][1])
    begin = 0.0
    for share, value in parts[:-1]:
        load[round(begin * span.size) : round((begin + share) * span.size)] = value
        begin += share
    return load


def pauses(
    rng: np.random.Generator, span: Span, load: Floats, every_s: float, lasting_s: float, to: float = 0.0
) -> Floats:
    """The load with recurring pauses, neither equally far apart nor equally long, at `to` times the load."""
    result = load.copy()
    now_s = every_s * rng.uniform(0.4, 1.0)
    while now_s < span.hours * 3600:
        long_s = lasting_s * rng.lognormal(-0.02, 0.2)
        result[int(now_s / span.step_s) : int((now_s + long_s) / span.step_s)] *= to
        now_s += long_s + max(every_s - lasting_s, 1.0) * max(rng.normal(1.0, 0.08), 0.3)
    return result


def wander(rng: np.random.Generator, span: Span, load: Floats, fraction: float, over_s: float = 900.0) -> Floats:
    """The load under a slow drift of that relative size: input that varies, neighbours, temperature."""
    knots = max(int(span.hours * 3600 / over_s) + 2, 3)
    drift = np.interp(np.linspace(0, knots - 1, span.size), np.arange(knots), rng.normal(0, fraction, knots))
    return np.asarray(np.clip(load * (1 + drift), 0, 1))


def counter(rng: np.random.Generator, span: Span, load: Floats, pace: Pace) -> Floats:
    """Busy percent `(T,)`: the share of the driver's window in which a batch kept the GPU busy."""
    count = int(1.4 * span.hours * 3600 / pace.batch_s) + 60
    length_s = pace.batch_s * np.exp(rng.normal(-(pace.sigma**2) / 2, pace.sigma, count))
    begin_s = np.cumsum(length_s) - length_s - rng.uniform(1, 2) * pace.batch_s
    index = np.clip(begin_s / span.step_s, 0, span.size - 1).astype(np.int64)
    share = np.clip(load[index] * rng.normal(1, BATCH_JITTER, count), 0, 1)
    edges_s = np.column_stack([begin_s, begin_s + share * length_s]).ravel()
    busy_s = np.concatenate([[0.0], np.cumsum(np.column_stack([share * length_s, np.zeros(count)]).ravel())[:-1]])
    at_s = (np.arange(span.size) + 1) * span.step_s + rng.uniform(-0.06, 0.06, span.size)
    seen_s = np.interp(at_s, edges_s, busy_s) - np.interp(at_s - pace.window_s, edges_s, busy_s)
    return np.asarray(np.clip(np.rint(100 * seen_s / pace.window_s), 0, 100))


def memory(rng: np.random.Generator, span: Span, peak_gb: float, load: Floats, fill_s: float) -> Floats:
    """Memory `(T,)` from the first work on: a few big allocations, then an allocator that gives nothing back."""
    working = np.flatnonzero(load > 0)
    if peak_gb < 0.3 or not working.size:
        return np.full(span.size, max(peak_gb, 0.02)) + np.abs(rng.normal(0, 0.002, span.size))
    steps = np.sort(np.append(rng.uniform(0.55, 0.98, 4), 1.0))
    held = np.full(span.size, 0.05)
    for number, share in enumerate(steps):
        held[working[0] + int(number * rng.uniform(0.6, 1.0) * fill_s / span.step_s / 4) :] = share * peak_gb
    return np.asarray(np.clip(held - np.abs(rng.normal(0, 0.004 * peak_gb, span.size)) * (held > 1), 0.0, None))


def watts(rng: np.random.Generator, util: Floats, setup: Setup) -> Floats | None:
    """Power `(T, M)`: rest, plus what each busy GPU adds, smoothed as the sensor is, under a slow thermal drift."""
    if not setup.has_power:
        return None
    known = np.nan_to_num(util, nan=float(np.nanmean(util)))
    smooth = (known + np.vstack([known[:1], known[:-1]]) + np.vstack([known[:2], known[:-2]])) / 3
    modules = smooth.reshape(util.shape[0], -1, setup.gpus_per_module).sum(axis=2) / 100
    warmth = 1 + 0.02 * (1 - np.exp(-np.arange(util.shape[0]) / 600))[:, None]
    drawn_w = setup.rest_w + setup.die_w * modules * warmth + rng.normal(0, 6, modules.shape)
    return np.asarray(np.clip(drawn_w, 0.8 * setup.rest_w, setup.cap_w * 1.01))


def lose(rng: np.random.Generator, util: Floats, fraction: float) -> Floats:
    """Some samples lost for all GPUs of the node at once: single ones, and clumps while the daemon slept."""
    kept = util.copy()
    missing = round(fraction * util.shape[0])
    kept[rng.integers(0, util.shape[0], missing // 3)] = np.nan
    while missing > 0 and int(np.isnan(kept[:, 0]).sum()) < missing:
        begin, width = int(rng.integers(0, util.shape[0])), int(rng.integers(3, 60))
        kept[begin : begin + min(width, missing)] = np.nan
    return kept


def node(
    rng: np.random.Generator,
    span: Span,
    loads: Sequence[Floats],
    peaks_gb: Sequence[float],
    pace: Pace,
    cpu: Mapping[str, Any] | None,
    setup: Setup = MI250X,
) -> Node:
    """One node: a GPU for each load, started some seconds apart, each with the memory it peaks at."""
    columns, held = [], []
    for load, peak_gb in zip(loads, peaks_gb, strict=True):
        late = int(rng.uniform(0, setup.offset_s) / span.step_s)
        shifted = np.concatenate([np.repeat(load[:1], late), load[: load.size - late]])
        columns.append(counter(rng, span, shifted, pace))
        held.append(memory(rng, span, peak_gb * rng.uniform(0.985, 1.0), shifted, setup.fill_s))
    util = np.column_stack(columns)
    power_w = watts(rng, util, setup) if util.shape[1] % setup.gpus_per_module == 0 else None
    return Node(
        util=lose(rng, util, setup.lost_fraction),
        mem_gb=np.minimum(np.column_stack(held), setup.capacity_gb),
        power_w=power_w,
        cpu=cpu,
        gpu_ids=setup.gpu_ids,
        step_s=span.step_s,
        mem_total_gb=setup.capacity_gb,
        power_cap_w=setup.cap_w,
        gpus_per_module=setup.gpus_per_module,
        throttled_fraction=setup.throttled_fraction,
        fields=fields_by_gpu(setup.fields),
    )


def host(
    rng: np.random.Generator,
    cores: int,
    busy: float,
    memory_gb: float,
    limit_gb: float,
    ranks: int = 1,
    threads: float = 1.0,
    iowait: float = 0.003,
    **more: float,
) -> dict[str, Any]:
    """The `cpu` object: `busy` cores of `cores` on average; `more` replaces or adds counters."""
    busy = min(busy * rng.uniform(0.985, 1.015), cores)
    used = busy / cores
    waiting = min(iowait * rng.uniform(0.9, 1.1), 1 - used)
    kernel = used * rng.uniform(0.04, 0.12)
    pressure = {"pressure_cpu_s": rng.uniform(1, 20), "pressure_memory_s": 0.0, "pressure_io_s": rng.uniform(1, 15)}
    return {
        "cores_allocated": cores,
        "busy_cores_avg": round(busy, 3),
        "user_fraction": round(used - kernel, 4),
        "system_fraction": round(kernel, 4),
        "iowait_fraction": round(waiting, 4),
        "idle_fraction": round(max(1 - used - waiting, 0.0), 4),
        "ranks": ranks,
        "threads_per_rank": threads,
        "peak_memory_gb": round(memory_gb * rng.uniform(0.97, 1.0), 2),
        "memory_limit_gb": limit_gb,
        "oom_kills": 0,
        "missing": {},
        **{name: round(value, 1) for name, value in pressure.items()},
        **more,
    }
