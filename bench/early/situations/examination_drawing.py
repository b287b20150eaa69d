"""Drawing for the examination: rhythms of work and pause, hiccups and lost samples, step counters with pauses.

What is expected follows four sentences. Due: it holds since three quarters of an hour, goes on for another hour (a kill
for memory may come sooner), and the owner can act. Right beside it: it holds but is early, planned, or of little use to
say. Wrong: everything else, also what is so only for the moment and is over within half an hour. Sessions by day are
left alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bench.early.cutting import Host
from bench.early.situations.build import Phase, gpus, situation
from bench.early.situations.situation import Progress, Situation
from bench.noisy.readings import Floats, Node

FIRST_S, EVERY_S = 600, 3600
JITTER = 0.15
"""A pause or a piece of work is up to so much longer or shorter than the last one."""
HICCUP_SHARE, LOST_SHARE = 0.004, 0.002
"""Samples at which work stumbles (a slow file, a neighbour on Lustre), and samples that were not read."""

Beat = tuple[float, float | Sequence[float], float, float]
"""Minutes, busy percent, GB of each GPU, watts that a fully busy GPU adds."""


def beats(from_h: float, until_h: float, seed: int, *pattern: Beat) -> list[Phase]:
    """The pattern over and over, each piece as long as its minutes give or take 15 %."""
    rng = np.random.default_rng(seed)
    phases: list[Phase] = []
    hour = from_h
    while hour < until_h:
        for minutes, busy, gb, watts in pattern:
            hour += minutes / 60 * float(rng.uniform(1 - JITTER, 1 + JITTER))
            phases.append((min(hour, until_h), busy, gb, watts))
    return [phase for number, phase in enumerate(phases) if number == 0 or phase[0] > phases[number - 1][0]]


def untidy(seed: str, count: int, *phases: Phase, **drawing: Any) -> Node:
    """A node as `gpus` draws it, with hiccups of 20 to 80 s where it works and some samples lost."""
    node = gpus(seed, count, *phases, **drawing)
    rng = np.random.default_rng(zlib.crc32(f"untidy {seed}".encode()))
    util = node.util.copy()
    for first in np.flatnonzero(rng.random(util.shape[0]) < HICCUP_SHARE):
        piece = util[first : first + int(rng.integers(1, 5))]
        piece[(piece > 30.0) & (piece < 97.0)] *= float(rng.uniform(0.1, 0.6))
    util[rng.random(util.shape[0]) < LOST_SHARE] = np.nan
    return replace(node, util=util)


def polled(seed: str, node: Node, every_min: float = 15.0) -> Node:
    """The same node where somebody's monitoring leaves single samples of 2 % on idle GPUs."""
    rng = np.random.default_rng(zlib.crc32(f"polled {seed}".encode()))
    util = node.util.copy()
    step = int(every_min * 60 / node.step_s)
    rows = np.arange(step, util.shape[0], step)
    util[rows] = np.where(util[rows] == 0.0, rng.uniform(1.0, 2.5, util[rows].shape), util[rows])
    return replace(node, util=util)


def logged(*pieces: tuple[float, int, float, int], total: int | None = None, every_min: float = 5.0) -> Progress:
    """Steps logged evenly within pieces (from hour, step, to hour, step); between the pieces nothing is logged."""
    points: list[tuple[float, int]] = []
    for from_h, first, to_h, last in pieces:
        count = max(2, int((to_h - from_h) * 60 / every_min) + 1)
        hours: Floats = np.linspace(from_h, to_h, count)
        points += [
            (round(float(hour) * 3600.0, 1), round(float(step)))
            for hour, step in zip(hours, np.linspace(first, last, count), strict=True)
        ]
    return Progress(tuple(points), total)


def spread(text: str) -> str:
    """`"4200..11400 x"` is `"4200 x | 7800 x | 11400 x"`, the real schedule.

    >>> spread("600 - | 4200..7800 spinning")
    '600 - | 4200 spinning | 7800 spinning'
    """
    moments: list[str] = []
    for moment in text.split("|"):
        second, _, codes = moment.strip().partition(" ")
        first, _, last = second.partition("..")
        moments += [f"{at} {codes}" for at in range(int(first), int(last or first) + 1, EVERY_S)]
    return " | ".join(moments)


def quiet(until_s: int, *also_s: int) -> str:
    """Nothing is due at any cut of the schedule up to then, nor at the further seconds."""
    return " | ".join(f"{at} -" for at in sorted({*range(FIRST_S, until_s + 1, EVERY_S), *also_s}))


def seen(
    name: str, story: str, expected: str, nodes: Node | Sequence[Node], hosts: Host | Sequence[Host | None] | None,
    **rest: Any,
) -> Situation:  # fmt: skip
    return situation(f"examination_{name}", story, spread(expected), nodes, hosts, **rest)
