"""Situations of training runs beside the use of their GPUs, with what must, must not or may be said.

True: must be said. False: must not be said. None: either is right, because what was measured does not decide it (the story says why).
`power` is the mean over the busy time of the whole run, as a job's record has it, and was computed from the story: so a hang is only
demanded where it lasted long enough to pull that mean below 125 W. Without power, with power of computing (200 W and more), with
GPUs that were idle or not measured after the last step, or in a job that ended by itself (COMPLETED), a hang is never demanded.
`hang_since_s` goes from a minute before the last point to two logging intervals and a minute after it. `nan_since_step` goes from the step
after the last good point to the first bad point. `paused_share` is the true share, give or take a quarter. Ranges that stand beside None
are what must be met if it is said all the same. Use is given in bins as a collector would keep it (120 over the run unless finer).
Standard library and numpy; each case has a seed of its own.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

NAN = float("nan")
INF = float("inf")
M = 60.0
H = 3600.0
SPIN = 98.0  # watts of an MI250X die that spins in a waiting kernel
WORK = 305.0  # watts of a die that computes

Points = list[tuple[int, float, float]]


@dataclass(frozen=True)
class Case:
    name: str  # unique
    story: str  # what really happened
    elapsed_s: float  # run time of the Slurm job
    state: str  # COMPLETED, TIMEOUT, FAILED, CANCELLED, OUT_OF_MEMORY
    gpus: int
    use: tuple[tuple[float, float, float], ...]  # (from_s, to_s, mean use in percent); gaps were not measured
    power: float | None  # mean watts per GPU die while busy, over the whole run
    series: dict[str, list[tuple[int, float, float]]]  # name -> [(step, seconds since the job's start, value)]
    hang: bool | None  # True: must be said; False: must not be said; None: either
    hang_since_s: tuple[float, float] | None
    loss_is_nan: bool | None
    nan_since_step: tuple[int, int] | None
    step_pauses: bool | None
    paused_share: tuple[float, float] | None


_CASES: dict[str, list[Case]] = {}
_RNG = np.random.default_rng(0)


def situation(build: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    """The function's name is the case's name, its docstring the story. Each case has its own seed."""
    global _RNG
    name = build.__name__
    _RNG = np.random.default_rng(zlib.crc32(name.encode()))
    fields: dict[str, Any] = {
        "gpus": 8,
        "state": "COMPLETED",
        "power": WORK,
        "hang": False,
        "hang_since_s": None,
        "loss_is_nan": False,
        "nan_since_step": None,
        "step_pauses": False,
        "paused_share": None,
    }
    fields.update(build())
    fields["series"] = {n: [(int(s), float(t), float(v)) for s, t, v in p] for n, p in fields["series"].items()}
    fields["elapsed_s"] = round(float(fields["elapsed_s"]), 1)
    _CASES.setdefault(build.__module__, []).append(
        Case(name=name, story=" ".join((build.__doc__ or "").split()), **fields)
    )
    return build


def ticks(
    begin: float, end: float, step_s: float, every: int = 1, first: int = 0, pauses: Any = (), jitter: float = 0.04
) -> list[tuple[int, float]]:
    """(step, time) of what a loop logs that takes step_s for a step and logs each `every` steps; no step is made within pauses."""
    out, t, step, stops = [], begin, first, sorted(pauses)
    while True:
        t += step_s * every * float(np.clip(_RNG.normal(1.0, jitter), 0.3, 3.0))
        while stops and t > stops[0][0]:
            a, b = stops.pop(0)
            t += b - a
        if t >= end:
            return out
        step += every
        out.append((step, round(t, 1)))


def fall(at: list[tuple[int, float]], top: float = 4.2, floor: float = 1.3, noise: float = 0.05) -> Points:
    """A loss that falls."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(floor + (top - floor) * math.exp(-3.5 * i / n) + noise * float(_RNG.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def rise(at: list[tuple[int, float]], low: float = 0.1, high: float = 0.8) -> Points:
    """An accuracy that rises."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(high - (high - low) * math.exp(-3.0 * i / n) + 0.01 * float(_RNG.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def level(at: list[tuple[int, float]], value: float, noise: float = 0.0) -> Points:
    return [(s, t, round(value + noise * float(_RNG.normal()), 6) if math.isfinite(value) else value) for s, t in at]


def spoil(points: Points, from_step: int, value: float = NAN, to_step: int | None = None) -> Points:
    """The same points with `value` from a step on (up to and with to_step)."""
    return [(s, t, value if s >= from_step and (to_step is None or s <= to_step) else v) for s, t, v in points]


def onset(points: Points) -> tuple[int, int]:
    """The range in which the last finite value was followed by those that are not: after the last good logged step, up to the first bad one."""
    order = sorted(points, key=lambda p: (p[1], p[0]))
    good = [i for i, p in enumerate(order) if math.isfinite(p[2])]
    if not good:
        return (0, order[0][0])
    return (order[good[-1]][0] + 1, order[good[-1] + 1][0])


def use_of(
    elapsed: float, *phases: tuple[float, ...], bin_s: float | None = None
) -> tuple[tuple[float, float, float], ...]:
    """Means of bins (by default 120 over the run, at least 10 s long) of phases (from, to, level[, noise]). Bins with less than half covered are left out."""
    width = bin_s or max(elapsed / 120.0, 10.0)
    n = max(1, math.ceil(elapsed / width - 1e-9))
    starts = np.array([p[0] for p in phases])
    ends = np.array([p[1] for p in phases])
    levels = np.array([p[2] for p in phases])
    noises = np.array([p[3] if len(p) > 3 else 2.0 for p in phases])
    out = []
    for i in range(n):
        a, b = i * width, min((i + 1) * width, elapsed)
        overlap = np.clip(np.minimum(ends, b) - np.maximum(starts, a), 0.0, None)
        covered = float(overlap.sum())
        if covered < (b - a) / 2:
            continue
        mean = float((overlap * levels).sum()) / covered
        noise = float((overlap * noises).sum()) / covered
        out.append((round(a, 1), round(b, 1), round(float(np.clip(mean + noise * _RNG.normal(), 0.0, 100.0)), 2)))
    return tuple(out)


def with_pauses(
    elapsed: float, pauses: Any, busy: float, low: float, begin: float = 0.0, begin_level: float = 0.0
) -> list[tuple[float, ...]]:
    """Phases: `busy` from `begin` on, `low` within the pauses."""
    out: list[tuple[float, ...]] = [(0.0, begin, begin_level, 0.3)] if begin else []
    t = begin
    for a, b in pauses:
        out += [(t, a, busy), (a, b, low, 0.5)]
        t = b
    if t < elapsed:
        out.append((t, elapsed, busy))
    return out


def cycle(begin: float, end: float, work_s: float, pause_s: float) -> list[tuple[float, float]]:
    """Pauses of pause_s after each work_s."""
    out, t = [], begin + work_s
    while t + pause_s < end:
        out.append((round(t, 1), round(t + pause_s, 1)))
        t += pause_s + work_s
    return out


def share(pauses: Any, elapsed: float, slack: float = 0.25) -> tuple[float, float]:
    """The true share of the run within pauses, give or take a quarter."""
    part = sum(b - a for a, b in pauses) / elapsed
    return (round(part * (1 - slack), 4), round(part * (1 + slack), 4))


def since(at: Any, gap: float, slack: float = 60.0) -> tuple[float, float]:
    """When progress stopped: at the last point, or up to two logging intervals later."""
    last = max(p[1] for p in at)
    return (round(last - slack, 1), round(last + 2 * gap + slack, 1))


def mix(*parts: tuple[float, float]) -> float:
    """Mean watts of (seconds, watts)."""
    return round(sum(s * w for s, w in parts) / sum(s for s, _ in parts), 1)


def shift(points: Points, by: float) -> Points:
    return [(s, round(t + by, 1), v) for s, t, v in points]


def system(elapsed: float, value: float = 97.0, every: float = 10.0, begin: float = 5.0) -> Points:
    """What a tracker's own thread logs: step 0, 1, 2, ... by time, whatever the training does."""
    n = int((elapsed - begin) / every)
    keep = max(1, n // 1500)
    return [
        (i, round(begin + i * every, 1), round(float(np.clip(value + _RNG.normal(), 0, 100)), 1))
        for i in range(0, n, keep)
    ]


def shuffled(points: Points) -> Points:
    return [points[int(i)] for i in _RNG.permutation(len(points))]


def dice() -> np.random.Generator:
    """The random numbers of the situation that is being built."""
    return _RNG


def drawn(module: str) -> tuple[Case, ...]:
    """The situations of one module, in its order."""
    return tuple(_CASES[module])
