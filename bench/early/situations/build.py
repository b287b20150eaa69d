"""Building situations: phases in hours become samples of GPUs and hosts, with noise from the situation's own seed.

Watts as in bench/noisy/learning_draw.py: a module idles at 91 W; a GPU that computes adds 168 W, one that is bound by
memory 114 W, one that spins in a collective 22 W.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from bench.early.cutting import Host
from bench.early.situations.situation import Progress, Situation, expect
from bench.noisy.readings import Floats, Node

HOUR_S, STEP_S, HOST_STEP_S = 3600.0, 20.0, 60.0
IDLE_MODULE_W, COMPUTE_W, SPIN_W = 91.0, 168.0, 22.0
MORNING, NOON, EVENING = 6, 10, 18
"""UTC hours: 8, 12 and 20 o'clock on LUMI in winter."""

PerGpu = float | Sequence[float]
Phase = tuple[float, PerGpu, float, float]
"""Until which hour, busy percent, GB of each GPU, watts that a fully busy GPU adds."""
Memory = Callable[[Floats], Floats]
"""Memory of the host in GB for hours since the start; NaN was not read."""


def idle(until_h: float, gb: float = 0.05) -> Phase:
    return (until_h, 0.0, gb, COMPUTE_W)


def work(until_h: float, busy: PerGpu = 93.0, gb: float = 40.0, watts: float = COMPUTE_W) -> Phase:
    return (until_h, busy, gb, watts)


def spin(until_h: float, busy: PerGpu = 99.5, gb: float = 40.0, watts: float = SPIN_W) -> Phase:
    return (until_h, busy, gb, watts)


def gap(until_h: float) -> Phase:
    """Nothing was read: the job was suspended or its collector stood still."""
    return (until_h, float("nan"), float("nan"), COMPUTE_W)


def gpus(seed: str, count: int, *phases: Phase, has_power: bool = True, creep: Memory | None = None) -> Node:
    """One node with `count` GPUs. `creep` replaces the memory of all GPUs by GB over hours."""
    rng = np.random.default_rng(zlib.crc32(seed.encode()))
    hours: Floats = (np.arange(int(phases[-1][0] * HOUR_S / STEP_S), dtype=np.float64) + 0.5) * STEP_S / HOUR_S
    number = np.searchsorted(np.array([phase[0] for phase in phases]), hours, side="right").clip(0, len(phases) - 1)
    level = np.array([np.broadcast_to(np.asarray(phase[1], float), count) for phase in phases])[number]
    util = np.where(level > 0, np.clip(level + rng.normal(0, 3, level.shape), 2, 100), level)
    gb = creep(hours) if creep else np.array([phase[2] for phase in phases], float)[number]
    mem_gb = np.repeat(np.clip(gb + rng.normal(0, 0.03, gb.shape), 0.02, 63.95)[:, None], count, axis=1)
    watts = np.array([phase[3] for phase in phases])[number][:, None] * np.nan_to_num(util) / 100
    modules = [watts[:, first : first + 2].sum(axis=1) for first in range(0, count, 2)]
    power_w = IDLE_MODULE_W + np.stack(modules, axis=1) + rng.normal(0, 6, (hours.size, len(modules)))
    power_w[np.isnan(util[:, 0])] = np.nan
    return Node(util, mem_gb, power_w if has_power else None, None, tuple(range(count)), step_s=STEP_S)


def silent_from(node: Node, hour: float) -> Node:
    """The same node without the samples from that hour on: its collector died or its network did."""
    count = int(hour * HOUR_S / STEP_S)
    power_w = node.power_w[:count] if node.power_w is not None else None
    return replace(node, util=node.util[:count], mem_gb=node.mem_gb[:count], power_w=power_w)


def without_timeline(node: Node) -> Node:
    """The same node as a collector reports it that keeps no timeline of its GPUs."""
    return replace(node, fields={gpu_id: {"timeline": None} for gpu_id in node.gpu_ids})


def steps(*phases: tuple[float, float]) -> Memory:
    """Values that hold until an hour each: a staircase, or busy cores by phase."""
    ends, values = np.array([end for end, _ in phases]), np.array([value for _, value in phases])
    return lambda hours: np.asarray(values[np.searchsorted(ends, hours, side="right").clip(0, len(values) - 1)], float)


def line(*points: tuple[float, float]) -> Memory:
    """Straight lines through (hour, GB)."""
    return lambda hours: np.asarray(np.interp(hours, [hour for hour, _ in points], [gb for _, gb in points]), float)


def host(
    hours: float, busy: float | Memory, memory: Memory | float | None = 20.0, limit_gb: float = 480.0, cores: int = 56,
    cache_gb: float = 0.0,
) -> Host:  # fmt: skip
    """One node's host; a number is the same all the time, None was not read. Busy cores swing by 5 % in ten minutes."""
    times = (np.arange(int(hours * 60)) + 0.5) / 60
    level = busy(times) if callable(busy) else np.full(times.size, busy)
    memory_gb = memory(times) if callable(memory) else None if memory is None else np.full(times.size, float(memory))
    return Host(level * (1 + 0.05 * np.sin(times * 38)), memory_gb, cores, limit_gb, cache_gb, HOST_STEP_S)


def situation(
    name: str, story: str, expected: str, nodes: Node | Sequence[Node], hosts: Host | Sequence[Host | None] | None, *,
    job: str = "train", partition: str = "standard-g", limit_h: float = 24.0, state: str = "COMPLETED",
    hour: int = MORNING, earlier: Sequence[tuple[float, int]] = (), progress: Progress | None = None,
    lasts_h: float | None = None, corrected: str = "", correction: str = "",
) -> Situation:  # fmt: skip
    """A situation that starts at an hour (UTC) of 19 November 2026, a Thursday, and lasts as long as its first node, or
    `lasts_h`.
    `earlier` are (hours, GPUs)."""
    all_nodes = (nodes,) if isinstance(nodes, Node) else tuple(nodes)
    all_hosts = (hosts,) * len(all_nodes) if hosts is None or isinstance(hosts, Host) else tuple(hosts)
    return Situation(
        name=name,
        story=story,
        job_name=job,
        partition=partition,
        gpus=sum(node.util.shape[1] for node in all_nodes),
        nodes=all_nodes,
        hosts=all_hosts,
        elapsed_s=lasts_h * HOUR_S if lasts_h else all_nodes[0].util.shape[0] * STEP_S,
        time_limit_s=limit_h * HOUR_S,
        state=state,
        started_at=datetime(2026, 11, 19, hour, tzinfo=UTC),
        expected=expect(expected),
        earlier_runs=tuple((hours * HOUR_S, count) for hours, count in earlier),
        progress=progress,
        corrected=expect(corrected) if corrected else {},
        correction=correction,
    )
