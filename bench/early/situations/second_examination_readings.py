"""How the second examination writes its cases: letters for words, hosts by share of a node, noise in every reading.

A letter is a code: I all GPUs idle, C on the CPU alone, U some GPUs unused, S spinning, G GPU memory, H host memory,
L time limit. A capital is a word that is due, a small letter one that is right but not needed, `-` none.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.early.cutting import Host, schedule
from bench.early.situations.build import HOUR_S, MORNING, STEP_S, Memory, Phase, gpus, host, situation
from bench.early.situations.situation import Progress, Situation
from bench.noisy.readings import Floats, Node

LETTERS = {
    "i": "all_gpus_idle",
    "c": "cpu_only",
    "u": "some_gpus_unused",
    "s": "spinning",
    "g": "gpu_memory_full",
    "h": "host_memory_filling",
    "l": "limit_too_short",
}
MOST_CUTS = 12
"""The first at ten minutes, the last after eleven hours and ten minutes."""
CORES_PER_GPU, GB_PER_GPU = 7, 60.0
"""What LUMI advises for each GPU of a shared node; a whole node has 56 cores and 480 GB."""
LOST_SHARE, BLIP_SHARE = 0.005, 0.001
"""Samples that were not read, and samples of an idle GPU that show 1 % because somebody looked at it."""


@dataclass(frozen=True)
class Side:
    """The host of a node: busy cores, GB of memory (None: not read), the limit in GB (None: 60 for each GPU), page
    cache in GB. `has_limit` False: the limit was not read."""

    busy: float | Memory
    memory: Memory | float | None = 20.0
    limit_gb: float | None = None
    cache_gb: float = 0.0
    has_limit: bool = True


def card(count: int, *phases: Phase, has_power: bool = True, creep: Memory | None = None) -> Node:
    """A node with `count` GPUs; its noise comes with the case."""
    return gpus("second", count, *phases, has_power=has_power, creep=creep)


def one_creeps(node: Node, column: int, creep: Memory) -> Node:
    """The same node where one GPU's memory follows `creep` (GB over hours)."""
    hours: Floats = (np.arange(node.util.shape[0], dtype=np.float64) + 0.5) * STEP_S / HOUR_S
    mem_gb = node.mem_gb.copy()
    mem_gb[:, column] = np.clip(creep(hours), 0.02, 63.95)
    return replace(node, mem_gb=mem_gb)


def logged(until_h: float, *knots: tuple[float, float], total: int | None = None, name: str = "max_steps",
    every_s: float = 180.0) -> Progress:  # fmt: skip
    """Steps through (hour, step), logged each `every_s` from the first of these hours until `until_h`."""
    times = np.arange(knots[0][0] * HOUR_S + every_s, until_h * HOUR_S, every_s)
    reached = np.interp(times / HOUR_S, [hour for hour, _ in knots], [step for _, step in knots])
    return Progress(tuple((float(at), int(step + 0.01)) for at, step in zip(times, reached, strict=True)), total, name)


def saw(low_gb: float, high_gb: float, every_h: float) -> Memory:
    """Memory that grows evenly and is freed again every so many hours."""
    return lambda hours: np.asarray(low_gb + (high_gb - low_gb) * np.mod(hours, every_h) / every_h, float)


def wave(low: float, high: float, every_h: float) -> Memory:
    """Busy cores or GB that swing between two values."""
    return lambda hours: np.asarray((low + high) / 2 + (high - low) / 2 * np.sin(2 * np.pi * hours / every_h), float)


def case(
    name: str, story: str, words: str, nodes: Node | Sequence[Node], side: Side | Sequence[Side | None] | None, *,
    limit_h: float, state: str = "COMPLETED", job: str = "train", partition: str | None = None, hour: int = MORNING,
    earlier: Sequence[tuple[float, int]] = (), progress: Progress | None = None, lasts_h: float | None = None,
) -> Situation:  # fmt: skip
    """A situation with `words` for each cut of the real schedule: the last of them holds to the end."""
    clean = (nodes,) if isinstance(nodes, Node) else tuple(nodes)
    elapsed_h = lasts_h or clean[0].util.shape[0] * STEP_S / HOUR_S
    sides = (side,) * len(clean) if side is None or isinstance(side, Side) else tuple(side)
    count = sum(node.util.shape[1] for node in clean)
    return situation(
        name, story, spelt(words, elapsed_h),
        [_rough(node, f"{name}{number}") for number, node in enumerate(clean)],
        [_host(one, node, elapsed_h, f"{name}{number}")
         for number, (one, node) in enumerate(zip(sides, clean, strict=True))],
        job=job, partition=partition or ("small-g" if count < 8 else "standard-g"), limit_h=limit_h, state=state,
        hour=hour, earlier=earlier, progress=progress, lasts_h=elapsed_h,
    )  # fmt: skip


def spelt(words: str, elapsed_h: float) -> str:
    """The words of all cuts of a run as `expect` reads them.

    >>> spelt("- Ci", 2.5)
    '600 - | 4200 cpu_only ?all_gpus_idle | 7800 cpu_only ?all_gpus_idle'
    """
    said = words.split()
    moments = schedule(elapsed_h * HOUR_S)[:MOST_CUTS]
    if len(said) > len(moments):
        raise ValueError(f"{words!r} has more words than {elapsed_h} hours have cuts")
    said += said[-1:] * (len(moments) - len(said))
    return " | ".join(f"{second:.0f} {_spelt(letters)}" for second, letters in zip(moments, said, strict=True))


def _spelt(letters: str) -> str:
    if letters == "-":
        return "-"
    return " ".join(LETTERS[one.lower()] if one.isupper() else f"?{LETTERS[one]}" for one in letters)


def _rough(node: Node, seed: str) -> Node:
    """The same node with GPUs that differ, short stalls, power that jitters and samples that were not read."""
    rng = np.random.default_rng(zlib.crc32(f"rough {seed}".encode()))
    shape = node.util.shape
    own = rng.normal(0, 1.0, shape[1]) + rng.normal(0, 2.0, shape)
    stalled = np.where((rng.random((shape[0], 1)) < 0.01) & (node.util < 97), 0.3, 1.0)
    blips = np.where(rng.random(shape) < BLIP_SHARE, 1.0, node.util)
    util = np.where(
        node.util > 0, np.clip((node.util + own) * stalled, 2, 100), np.where(node.util == 0, blips, np.nan)
    )
    lost = rng.random(shape[0]) < LOST_SHARE
    util[lost] = np.nan
    mem_gb = np.clip(node.mem_gb + rng.normal(0, 0.04, shape), 0.02, 63.95)
    never = np.asarray(np.all(node.util == 0, axis=0))
    if not np.all(never):
        mem_gb[:, never] = 0.05
    mem_gb[lost] = np.nan
    power_w = node.power_w
    if power_w is not None:
        power_w = power_w * rng.normal(1, 0.02, power_w.shape)
        power_w[lost] = np.nan
    return replace(node, util=util, mem_gb=mem_gb, power_w=power_w)


def _host(side: Side | None, node: Node, elapsed_h: float, seed: str) -> Host | None:
    if side is None:
        return None
    count = node.util.shape[1]
    limit_gb = side.limit_gb or GB_PER_GPU * count
    clean = host(elapsed_h, side.busy, side.memory, limit_gb, CORES_PER_GPU * count, side.cache_gb)
    rng = np.random.default_rng(zlib.crc32(f"host {seed}".encode()))
    busy = np.clip(clean.busy_cores * rng.normal(1, 0.08, clean.busy_cores.size), 0.01, clean.cores)
    memory_gb = clean.memory_gb
    if memory_gb is not None:
        memory_gb = np.clip(memory_gb * rng.normal(1, 0.006, memory_gb.size), 0.1, limit_gb)
        memory_gb[rng.random(memory_gb.size) < LOST_SHARE] = np.nan
    return replace(clean, busy_cores=busy, memory_gb=memory_gb, limit_gb=limit_gb if side.has_limit else None)
