"""Telemetry of the examiner's cases: a GPU is a queue of batches, read once in a while through a short driver average.

The busy counter is not drawn as "level plus noise". Batches with their own lengths and gaps are laid out in time, and
each sample is what the driver's window before it saw of them: long batches read 0 or 100, short ones read their share.
Window and flatness follow the AMD notes on `average_gfx_activity` (facts/amd-gpus.md) and the shared real traces.
Shapes: T samples, G GPUs, M modules. A load is a fraction of time with kernels, 0..1, shape (T,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.noisy.readings import Floats, Node

# Watt of an MI250X module at rest (rocm-smi on LUMI-G, facts/lumi.md section 1) and of an A100 SXM at rest.
REST_W = 90.0
# Share of batches by which one batch's kernel time differs from the next (real traces: 2 to 6 %).
BATCH_JITTER = 0.04


@dataclass(frozen=True)
class Span:
    """The measured time of a run, and how often it was read."""

    hours: float
    step_s: float = 1.0

    @property
    def size(self) -> int:
        return round(self.hours * 3600 / self.step_s)


@dataclass(frozen=True)
class Pace:
    """A process's batches: mean length, sigma of its logarithm, and the driver's averaging window."""

    batch_s: float = 0.6
    sigma: float = 0.25
    window_s: float = 0.7


@dataclass(frozen=True)
class Setup:
    """What differs from a LUMI-G node, and how the samples suffered."""

    die_w: float | None = 190.0  # watt that one fully busy GPU adds to its module; None: power is not read
    rest_w: float = REST_W
    cap_w: float = 500.0
    capacity_gb: float = 63.98
    gpus_per_module: int = 2
    gpu_ids: tuple[int, ...] = ()
    lost_fraction: float = 0.004
    offset_s: float = 4.0  # by which the GPUs of one node start apart
    fill_s: float = 240.0
    throttled_fraction: float = 0.0
    fields: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


MI250X = Setup()
HALF_MODULE = Setup(die_w=None)
A100 = Setup(die_w=310.0, rest_w=58.0, cap_w=400.0, capacity_gb=80.0, gpus_per_module=1)


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
    if setup.die_w is None:
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
    pace: Pace = Pace(),
    cpu: Mapping[str, Any] | None = None,
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
        fields=setup.fields,
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


def job(
    job_name: str,
    used_h: float,
    limit_h: float,
    gpus: int = 1,
    nodes: int = 1,
    partition: str = "small-g",
    cores: int | None = None,
    memory_gb: float | None = None,
    spelled: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Record fields of a COMPLETED run; cores and memory default to the share of the GPUs, or to the whole node."""
    is_whole = partition == "standard-g"
    fields = {
        "job_name": job_name,
        "partition": partition,
        "state": "COMPLETED",
        "exit_code": "0:0",
        "node_count": nodes,
        "gpus_requested": gpus,
        "gpus_per_node": gpus // nodes,
        "gpus_allocated": gpus,
        "ntasks": gpus,
        "cpus_allocated": cores or (56 * nodes if is_whole else 7 * gpus),
        "memory_requested_gb": memory_gb or (480.0 * nodes if is_whole else 60.0 * gpus),
        "walltime_requested_s": round(limit_h * 3600),
        "walltime_used_s": round(used_h * 3600),
        **more,
    }
    return fields | ({"request": dict(spelled)} if spelled else {})
