"""The shape of simulation runs: start-up, drift, dips, staggered ends, lost samples, and the power that goes with them.

A `Plan` states what a run does in expectation; its readings differ with every seed.
Shapes: T samples `step_s` apart, G GPUs, M modules. Levels are expected busy percent, before the jitter of readings.

Power follows measured MI250X modules (LUMI AI workshop, `rocm-smi` samples): idle 82-102 W, one die at work about
300 W, both about 500 W, which is the cap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from cases.drawing import Described, Draw, FieldsOfGpu, Table, fields_by_gpu
from cases.readings import Floats, Node

Rng = np.random.Generator

IDLE_MODULE_W = (86.0, 99.0)
MODULE_W_MAX = 503.0
# Watts that one fully busy die adds to its module: 192 as it computes, 122 bound by memory, 150 at modest kernels.
COMPUTE_W, SPIN_W = 192.0, 26.0
# Chance per second of a reading of some other use on an idle GPU (a probe, a monitor).
STRAY_CHANCE_PER_S = 0.0012


class Host(Described, frozen=True):
    """The host side of one node: mean busy cores, shares of its cores' time, and pressure as shares of the run."""

    busy: float
    cores: int = 56
    ranks: int = 8
    threads: float = 1.0
    memory_gb: float = 60.0
    limit_gb: float = 480.0
    system_share: float = 0.12
    iowait: float = 0.004
    cpu_pressure: float = 0.004
    io_pressure: float = 0.006
    memory_pressure: float = 0.0
    oom_kills: int = 0


class Plan(Described, frozen=True):
    """`percents` holds one row per node: the busy percent of each GPU while it works. `ends` is the share of the run
    after which a GPU has nothing left to do, per GPU or one for all; `spin_from` the share after which busy kernels
    only spin. `throttled` and `late_clock_s` (no readings before it) are one value per node. `spread` is the lasting
    difference between GPUs, `drift` their slow wander, `context_gb` what an open context holds on every GPU from start
    to end. Ranges are drawn uniformly. With `turn_s` one GPU works at a time, the next one after about that long;
    from an even start each GPU `drifts_to` its own share of its level; `phases` are (until which
    share of the run, factor).
    """

    used_s: float
    percents: tuple[tuple[float, ...], ...]
    host: Host | None = None
    mem_gb: float | tuple[float, ...] = 20.0
    step_s: float = 10.0
    start_s: tuple[float, float] = (20.0, 90.0)
    stagger_s: float = 8.0
    tail_s: tuple[float, float] = (0.0, 25.0)
    dip_every_s: float = 0.0
    dip_s: tuple[float, float] = (5.0, 12.0)
    dip_percent: float = 0.0
    ends: float | tuple[float, ...] = 1.0
    spread: float = 1.5
    drift: float = 1.5
    context_gb: float = 0.0
    spin_from: float = 1.0
    grain: float = 1.6
    creep: float = 0.0
    die_w: float = COMPUTE_W
    lost: float = 0.01
    late_clock_s: tuple[float, ...] = ()
    throttled: tuple[float, ...] = ()
    has_power: bool = True
    gpu_ids: tuple[int, ...] = ()
    turn_s: float = 0.0
    drifts_to: tuple[float, ...] = ()
    phases: tuple[tuple[float, float], ...] = ()
    names: tuple[str, ...] = ()
    fields: tuple[FieldsOfGpu, ...] = ()
    errors: tuple[str, ...] = ()


def drawn(drawing: Table) -> Draw:
    """Every call with the same seed gives the same nodes."""
    plan = msgspec.convert(drawing, Plan)

    def draw(rng: Rng) -> list[Node]:
        pulse = _pulse(rng, plan)
        return [_node(rng, plan, row, pulse, index) for index, row in enumerate(plan.percents)]

    return draw


def about(rng: Rng, level: Floats, drift: float) -> Floats:
    """A slow wander of some points about the level, each GPU on its own; an idle GPU stays idle."""
    steps, gpus = level.shape
    knots = max(4, steps // 60)
    walk = np.cumsum(rng.normal(0, 1, (knots, gpus)), axis=0)
    walk = (walk - walk.mean(axis=0)) / max(float(walk.std()), 1e-9) * drift
    where = np.linspace(0, knots - 1, steps)
    wander = np.stack([np.interp(where, np.arange(knots), walk[:, gpu]) for gpu in range(gpus)], axis=1)
    return np.where(level > 0, np.clip(level + wander, 0.5, 100), 0.0)


def readings(rng: Rng, level: Floats, grain: float, step_s: float) -> Floats:
    """Busy percent as read: a small `grain` gives mostly 0 and 100, a large one values near the level."""
    share = np.clip(level / 100, 1e-4, 1 - 1e-4)
    values = 100 * rng.beta(share * grain, (1 - share) * grain)
    strays = np.where(rng.random(level.shape) < STRAY_CHANCE_PER_S / step_s, rng.uniform(3, 90, level.shape), 0.0)
    return np.asarray(np.rint(np.where(level > 0, values, strays)), dtype=np.float64)


def watts(rng: Rng, util: Floats, die_w: float | Floats, gpu_ids: Sequence[int]) -> Floats:
    """Module power `(T, M)`: an idle share of each module's own, plus what its dies draw while busy."""
    modules = sorted({gpu_id // 2 for gpu_id in gpu_ids})
    drawn_w = util / 100 * die_w
    columns = [drawn_w[:, [gpu_id // 2 == module for gpu_id in gpu_ids]].sum(axis=1) for module in modules]
    total = np.stack(columns, axis=1) * rng.normal(1, 0.03, (util.shape[0], len(modules)))
    total += rng.uniform(*IDLE_MODULE_W, len(modules)) + rng.normal(0, 3.0, total.shape)
    return np.asarray(np.clip(total, 81, MODULE_W_MAX + rng.normal(0, 2, total.shape)), dtype=np.float64)


def memory(rng: Rng, level: Floats, peaks_gb: Floats, creep: float) -> Floats:
    """Held from a GPU's first work to its last, a few megabytes outside of it; `creep` is the share it grows by."""
    steps, gpus = level.shape
    held = np.zeros((steps, gpus))
    for gpu in range(gpus):
        works = np.flatnonzero(level[:, gpu] > 0)
        if works.size:
            span = np.arange(works[-1] - works[0] + 1)
            ramp = np.clip((span + 1) / rng.uniform(2, 9), 0.1, 1.0)
            grown = 1 - creep + creep * span / max(span.size, 1)
            held[works[0] : works[-1] + 1, gpu] = peaks_gb[gpu] * ramp * grown
    jitter = np.clip(rng.normal(0.99, 0.006, held.shape), 0.9, 1.0)
    return held * jitter + rng.uniform(0.01, 0.03, gpus)


def lose(rng: Rng, util: Floats, share: float) -> Floats:
    """The readings with bursts lost: about `share` of them, and on one GPU a few percent more."""
    steps, gpus = util.shape
    kept = util.copy()
    unlucky = int(rng.integers(gpus))
    for gpu in range(gpus):
        wanted = share + (rng.uniform(0.02, 0.07) if gpu == unlucky and share > 0 else 0.0)
        for _ in range(int(np.ceil(wanted * steps / 8))) if wanted > 0 else ():
            begin = int(rng.integers(0, max(steps - 16, 1)))
            kept[begin : begin + int(rng.integers(2, 15)), gpu] = np.nan
    return kept


def host_numbers(rng: Rng, host: Host, used_s: float) -> dict[str, Any]:
    """The `cpu` object of a node summary, no two nodes alike."""
    busy = min(host.busy * rng.normal(1, 0.025), host.cores * 0.995)
    iowait = min(host.iowait * rng.uniform(0.8, 1.2), 1 - busy / host.cores)
    return {
        "cores_allocated": host.cores,
        "busy_cores_avg": round(busy, 3),
        "user_fraction": round(busy / host.cores * (1 - host.system_share), 4),
        "system_fraction": round(busy / host.cores * host.system_share, 4),
        "iowait_fraction": round(iowait, 4),
        "idle_fraction": round(max(0.0, 1 - busy / host.cores - iowait), 4),
        "ranks": host.ranks,
        "threads_per_rank": round(host.threads * rng.uniform(1.0, 1.04), 1),
        "peak_memory_gb": round(min(host.memory_gb * rng.uniform(0.96, 1.04), host.limit_gb), 3),
        "memory_limit_gb": host.limit_gb,
        "oom_kills": host.oom_kills,
        "pressure_cpu_s": round(host.cpu_pressure * used_s * rng.uniform(0.85, 1.15), 2),
        "pressure_memory_s": round(host.memory_pressure * used_s * rng.uniform(0.85, 1.15), 2),
        "pressure_io_s": round(host.io_pressure * used_s * rng.uniform(0.85, 1.15), 2),
    }


def _shaped(rng: Rng, plan: Plan, level: Floats) -> Floats:
    """The level as it changes over the run in one of the three ways of a plan."""
    if plan.turn_s:
        return _in_turns(rng, plan, level)
    if plan.drifts_to:
        way = np.linspace(0, 1, level.shape[0])[:, None] ** rng.uniform(0.8, 1.2)
        return level * (1 + (np.asarray(plan.drifts_to) - 1) * way)
    if plan.phases:
        where = (np.arange(level.shape[0]) + 0.5) / level.shape[0] + rng.normal(0, 0.008)
        bounds = [until for until, _ in plan.phases[:-1]]
        factors = np.asarray([factor for _, factor in plan.phases])
        return np.asarray(level * factors[np.searchsorted(bounds, where)][:, None], dtype=np.float64)
    return level


def _in_turns(rng: Rng, plan: Plan, level: Floats) -> Floats:
    steps, gpus = level.shape
    mask, at, gpu = np.zeros_like(level), 0, int(rng.integers(gpus))
    while at < steps:
        length = max(1, round(plan.turn_s / plan.step_s * rng.uniform(0.75, 1.25)))
        mask[at : at + length, gpu % gpus] = 1
        at, gpu = at + length, gpu + 1
    return level * mask


def _node(rng: Rng, plan: Plan, row: Sequence[float], pulse: Floats, index: int) -> Node:
    steps, gpus = pulse.size, len(row)
    ids = plan.gpu_ids or tuple(range(gpus))
    base = np.asarray(row, dtype=np.float64)
    base = np.where(base > 0, np.clip(base + rng.normal(0, plan.spread, gpus), 1, 99.7), 0.0)
    level = np.tile(base, (steps, 1))
    level = level * _window(rng, plan, steps, gpus)
    level = _shaped(rng, plan, level)
    level = about(rng, level, plan.drift)
    floor = np.minimum(level, plan.dip_percent)
    level = np.where(pulse[:, None] > 0, level, np.where(level > 0, np.maximum(floor, 0.05), 0.0))
    util = readings(rng, level, plan.grain, plan.step_s)
    die_w = np.where(np.arange(steps) < plan.spin_from * steps, plan.die_w, SPIN_W)[:, None]
    peaks_gb = np.broadcast_to(np.asarray(plan.mem_gb, dtype=np.float64), (gpus,)) * rng.uniform(0.97, 1.0, gpus)
    unread = round(plan.late_clock_s[index] / plan.step_s) if plan.late_clock_s else 0
    util_read = lose(rng, util, plan.lost)
    util_read[:unread] = np.nan
    return Node(
        util=util_read,
        mem_gb=memory(rng, level, peaks_gb, plan.creep) + plan.context_gb,
        power_w=watts(rng, util, die_w, ids) if plan.has_power else None,
        cpu=host_numbers(rng, plan.host, plan.used_s) if plan.host else None,
        gpu_ids=ids,
        step_s=plan.step_s,
        throttled_fraction=plan.throttled[index] * rng.uniform(0.92, 1.08) if plan.throttled else 0.0,
        name=plan.names[index] if plan.names else "",
        errors=plan.errors,
        fields=fields_by_gpu(plan.fields),
    )


def _window(rng: Rng, plan: Plan, steps: int, gpus: int) -> Floats:
    """1 while a GPU may work, 0 before its staggered start and after its end; the first busy minute is half speed."""
    start = rng.uniform(*plan.start_s) + rng.uniform(0, plan.stagger_s, gpus)
    end = np.broadcast_to(np.asarray(plan.ends, dtype=np.float64), (gpus,)) * plan.used_s - rng.uniform(*plan.tail_s)
    now = (np.arange(steps)[:, None] + 0.5) * plan.step_s
    warm = np.where(now - start < rng.uniform(20, 60), rng.uniform(0.4, 0.8), 1.0)
    return np.where((now >= start) & (now <= end), warm, 0.0)


def _pulse(rng: Rng, plan: Plan) -> Floats:
    """1 where the whole job computes, 0 where all of it pauses together: checkpoints, output, restarts. `(T,)`"""
    pulse = np.ones(round(plan.used_s / plan.step_s))
    now_s = plan.dip_every_s * rng.uniform(0.4, 1.0)
    while plan.dip_every_s and now_s < plan.used_s:
        length_s = rng.uniform(*plan.dip_s)
        begin = int(now_s / plan.step_s)
        # A pause shorter than a sample hits only some samples, so its mean length stays right.
        count = int(length_s / plan.step_s + rng.random())
        pulse[begin : begin + count] = 0
        now_s += plan.dip_every_s * rng.uniform(0.88, 1.12)
    return pulse
