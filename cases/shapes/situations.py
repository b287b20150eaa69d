"""The shape of a running job's whole future: phases in hours become samples of GPUs and hosts, with seeded noise.

Watts as in `learning.py`: a module idles at 91 W; a GPU that computes adds 168 W, one that is bound by memory 114 W,
one that spins in a collective 22 W. Shapes: T samples `STEP_S` apart, G GPUs, M modules.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cases.drawing import Described
from cases.early.cutting import Host
from cases.readings import Floats, Node
from cases.shapes import curves
from cases.shapes.curves import curve

HOUR_S, STEP_S, HOST_STEP_S = 3600.0, 20.0, 60.0
IDLE_MODULE_W, COMPUTE_W = 91.0, 168.0
JITTER = 0.15
"""A pause or a piece of work is up to so much longer or shorter than the last one."""
HICCUP_SHARE, LOST_SHARE = 0.004, 0.002
"""Samples at which work stumbles (a slow file, a neighbour on Lustre), and samples that were not read."""

Phase = tuple[float, Any, float, float]
"""Until which hour, busy percent of all GPUs or of each (NaN was not read), GB of each GPU, watts that a fully busy GPU
adds."""


class Polled(Described, frozen=True):
    """Somebody's monitoring leaves single samples of 2 % on idle GPUs."""

    seed: str
    every_min: float = 15.0


class OneCreeps(Described, frozen=True):
    """One GPU's memory follows a curve of its own."""

    gpu: int
    gb: curves.Shape


class Gpus(Described, frozen=True):
    """The GPUs of one node. A phase is a list as in `Phase`, its watts left out where it computes; `rounds` of phases
    come again each `every_h`; `beats` are a pattern of (minutes, busy, GB, watts) over and over, each piece as long as
    its minutes give or take 15 %. `creep` replaces the memory of all GPUs. An untidy node has hiccups of 20 to 80 s
    where it works, and some samples lost. Nothing was heard of it after `silent_from_h`."""

    gpus: int
    phases: tuple[Any, ...]
    seed: str = "second"
    has_power: bool = True
    creep: curves.Shape | None = None
    one_creeps: OneCreeps | None = None
    is_untidy: bool = False
    polled: Polled | None = None
    silent_from_h: float | None = None
    has_timeline: bool = True


class HostSide(Described, frozen=True):
    """One node's host for so many hours; memory is None and the host not read at all where it says so."""

    hours: float = 0.0
    busy: curves.Shape = 0.0
    memory_gb: curves.Shape | None = None
    limit_gb: float = 480.0
    cores: int = 56
    cache_gb: float = 0.0
    is_read: bool = True


def node(gpus: Gpus) -> Node:
    drawn = _drawn(gpus)
    if gpus.is_untidy:
        drawn = _untidy(drawn, gpus.seed)
    if gpus.polled:
        drawn = _polled(drawn, gpus.polled)
    if gpus.one_creeps:
        hours = (np.arange(drawn.util.shape[0], dtype=np.float64) + 0.5) * STEP_S / HOUR_S
        mem_gb = drawn.mem_gb.copy()
        mem_gb[:, gpus.one_creeps.gpu] = np.clip(curve(gpus.one_creeps.gb)(hours), 0.02, 63.95)
        drawn = replace(drawn, mem_gb=mem_gb)
    if gpus.silent_from_h is not None:
        count = int(gpus.silent_from_h * HOUR_S / STEP_S)
        power_w = drawn.power_w[:count] if drawn.power_w is not None else None
        drawn = replace(drawn, util=drawn.util[:count], mem_gb=drawn.mem_gb[:count], power_w=power_w)
    if not gpus.has_timeline:
        drawn = replace(drawn, fields={gpu_id: {"timeline": None} for gpu_id in drawn.gpu_ids})
    return drawn


def host(side: HostSide) -> Host | None:
    """Busy cores swing by 5 % in ten minutes."""
    if not side.is_read:
        return None
    times = (np.arange(int(side.hours * 60)) + 0.5) / 60
    memory_gb = None if side.memory_gb is None else curve(side.memory_gb)(times)
    busy = curve(side.busy)(times) * (1 + 0.05 * np.sin(times * 38))
    return Host(busy, memory_gb, side.cores, side.limit_gb, side.cache_gb, HOST_STEP_S)


def _drawn(gpus: Gpus) -> Node:
    rng, count, phases = np.random.default_rng(zlib.crc32(gpus.seed.encode())), gpus.gpus, list(_phases(gpus.phases))
    hours: Floats = (np.arange(int(phases[-1][0] * HOUR_S / STEP_S), dtype=np.float64) + 0.5) * STEP_S / HOUR_S
    number = np.searchsorted(np.array([phase[0] for phase in phases]), hours, side="right").clip(0, len(phases) - 1)
    level = np.array([np.broadcast_to(np.asarray(phase[1], float), count) for phase in phases])[number]
    util = np.where(level > 0, np.clip(level + rng.normal(0, 3, level.shape), 2, 100), level)
    gb = np.array([phase[2] for phase in phases], float)[number] if gpus.creep is None else curve(gpus.creep)(hours)
    mem_gb = np.repeat(np.clip(gb + rng.normal(0, 0.03, gb.shape), 0.02, 63.95)[:, None], count, axis=1)
    watts = np.array([phase[3] for phase in phases])[number][:, None] * np.nan_to_num(util) / 100
    modules = [watts[:, first : first + 2].sum(axis=1) for first in range(0, count, 2)]
    power_w = IDLE_MODULE_W + np.stack(modules, axis=1) + rng.normal(0, 6, (hours.size, len(modules)))
    power_w[np.isnan(util[:, 0])] = np.nan
    return Node(util, mem_gb, power_w if gpus.has_power else None, None, tuple(range(count)), step_s=STEP_S)


def _phases(described: Sequence[Any]) -> Iterator[Phase]:
    for phase in described:
        if not isinstance(phase, dict):
            yield _phase(phase)
        elif "beats" in phase:
            yield from _beats(**phase["beats"])
        else:
            for number in range(phase["rounds"]):
                for until_h, busy, gb, watts in map(_phase, phase["of"]):
                    yield until_h + number * phase["every_h"], busy, gb, watts


def _phase(values: Sequence[Any]) -> Phase:
    until_h, busy, gb, *watts = values
    return until_h, busy, gb, watts[0] if watts else COMPUTE_W


def _beats(from_h: float, until_h: float, seed: int, pattern: Sequence[Sequence[Any]]) -> Iterator[Phase]:
    rng = np.random.default_rng(seed)
    hour, last_h = from_h, -1.0
    while hour < until_h:
        for minutes, busy, gb, watts in map(_phase, pattern):
            hour += minutes / 60 * float(rng.uniform(1 - JITTER, 1 + JITTER))
            if min(hour, until_h) > last_h:
                last_h = min(hour, until_h)
                yield last_h, busy, gb, watts


def _untidy(node: Node, seed: str) -> Node:
    rng = np.random.default_rng(zlib.crc32(f"untidy {seed}".encode()))
    util = node.util.copy()
    for first in np.flatnonzero(rng.random(util.shape[0]) < HICCUP_SHARE):
        piece = util[first : first + int(rng.integers(1, 5))]
        piece[(piece > 30.0) & (piece < 97.0)] *= float(rng.uniform(0.1, 0.6))
    util[rng.random(util.shape[0]) < LOST_SHARE] = np.nan
    return replace(node, util=util)


def _polled(node: Node, polled: Polled) -> Node:
    rng = np.random.default_rng(zlib.crc32(f"polled {polled.seed}".encode()))
    util = node.util.copy()
    step = int(polled.every_min * 60 / node.step_s)
    rows = np.arange(step, util.shape[0], step)
    util[rows] = np.where(util[rows] == 0.0, rng.uniform(1.0, 2.5, util[rows].shape), util[rows])
    return replace(node, util=util)
