"""The shape of a training run beside the use of its GPUs: times at which a script logs, and what it logs at them.

A draw is a table of named parts, drawn in the order in which they stand: `ticks` are the times of steps; `use` is the
use of the GPUs; every other part is a series (`fall` of a loss, `rise` of an accuracy, `level`, `system` for what a
tracker's own thread logs, or its `points`). `of` names the ticks at which a series is logged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Rng = np.random.Generator
Times = list[tuple[int, float]]
"""(step, seconds since the job's start)"""
Points = list[tuple[int, float, float]]
"""(step, seconds since the job's start, value)"""
Use = tuple[tuple[float, float, float], ...]
"""(from second, to second, mean use in percent); gaps were not measured"""
Spans = Sequence[Sequence[float]]
Table = Mapping[str, Any]


def drawn(
    rng: Rng, elapsed_s: float, draw: Table, joined: Mapping[str, Sequence[str]]
) -> tuple[Use, dict[str, Points]]:
    """The use and the series of a run; `joined` names series made of several parts one after another."""
    use: Use = ()
    times: dict[str, Times] = {}
    parts: dict[str, Points] = {}
    for name, described in draw.items():
        if name == "use":
            use = use_of(rng, elapsed_s, *_phases(described, elapsed_s), bin_s=described.get("bin_s"))
        elif "ticks" in described:
            times[name] = _ticks(rng, **described["ticks"])
        else:
            parts[name] = _series(rng, described, times)
    for name, of in joined.items():
        parts[name] = [point for part in of for point in parts.pop(part)]
    return use, parts


def _ticks(rng: Rng, from_s: float, to_s: float, pauses: Any = (), **rest: float) -> Times:
    return ticks(rng, from_s, to_s, pauses=_pauses(pauses), **rest)


def _pauses(described: Any) -> list[tuple[float, float]]:
    """Pauses as they are listed, or in a cycle: (from second, to second, seconds of work, seconds of pause)."""
    if isinstance(described, Mapping):
        return cycle(*described["cycle"])
    return [(begin, end) for begin, end in described]


def _phases(described: Table, elapsed_s: float) -> Spans:
    if "phases" in described:
        phases: Spans = described["phases"]
        return phases
    paused = dict(described["paused"])
    return with_pauses(elapsed_s, _pauses(paused.pop("pauses")), **paused)


def _series(rng: Rng, described: Table, times: Mapping[str, Times]) -> Points:
    if unknown := described.keys() - KINDS - AFTERWARDS:
        raise ValueError(f"no way of drawing: {sorted(unknown)}")
    points = _drawn_series(rng, described, times)
    for spoilt in described.get("spoilt", ()):
        points = spoil(points, **spoilt)
    points = shift(points, described["shift_s"]) if "shift_s" in described else points
    return points[::-1] if described.get("is_reversed") else points


def _drawn_series(rng: Rng, described: Table, times: Mapping[str, Times]) -> Points:
    if "points" in described:
        return [(step, at_s, value) for step, at_s, value in described["points"]]
    if "system" in described:
        return system(rng, **described["system"])
    (kind,) = described.keys() & KINDS
    of = {name: part for name, part in described[kind].items() if name not in WHICH}
    at = _at(described[kind], times)
    if kind == "fall":
        return fall(rng, at, **of)
    return rise(rng, at, **of) if kind == "rise" else level(rng, at, **of)


WHICH = "of at joined from to step down_from".split()
KINDS = {"fall", "rise", "level", "system", "points"}
AFTERWARDS = {"spoilt", "shift_s", "is_reversed"}


def _at(which: Table, times: Mapping[str, Times]) -> Times:
    """The ticks of that name, or those from one index to another, or with other steps; or several joined."""
    if "joined" in which:
        return [tick for one in which["joined"] for tick in _at(one, times)]
    if "at" in which:
        return [(step, at_s) for step, at_s in which["at"]]
    some = times[which["of"]][which.get("from", 0) : which.get("to")]
    if "step" in which:
        some = [(which["step"], at_s) for _, at_s in some]
    if "down_from" in which:
        some = [(which["down_from"] - step, at_s) for step, at_s in some]
    return some


def ticks(
    rng: Rng,
    begin: float,
    end: float,
    step_s: float,
    every: float = 1,
    first: float = 0,
    pauses: Sequence[tuple[float, float]] = (),
    jitter: float = 0.04,
) -> Times:
    """What a loop logs that takes step_s for a step and logs each `every` steps; no step is made within pauses."""
    out: Times = []
    t, step, stops = begin, first, sorted(pauses)
    while True:
        t += step_s * every * float(np.clip(rng.normal(1.0, jitter), 0.3, 3.0))
        while stops and t > stops[0][0]:
            a, b = stops.pop(0)
            t += b - a
        if t >= end:
            return out
        step += every
        out.append((int(step), round(t, 1)))


def fall(rng: Rng, at: Times, top: float = 4.2, floor: float = 1.3, noise: float = 0.05) -> Points:
    """A loss that falls."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(floor + (top - floor) * math.exp(-3.5 * i / n) + noise * float(rng.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def rise(rng: Rng, at: Times, low: float = 0.1, high: float = 0.8) -> Points:
    """An accuracy that rises."""
    n = max(len(at) - 1, 1)
    return [
        (s, t, round(high - (high - low) * math.exp(-3.0 * i / n) + 0.01 * float(rng.normal()), 5))
        for i, (s, t) in enumerate(at)
    ]


def level(rng: Rng, at: Times, value: float, noise: float = 0.0) -> Points:
    return [(s, t, round(value + noise * float(rng.normal()), 6) if math.isfinite(value) else value) for s, t in at]


def system(rng: Rng, elapsed: float, value: float = 97.0, every: float = 10.0, begin: float = 5.0) -> Points:
    """What a tracker's own thread logs: step 0, 1, 2, ... by time, whatever the training does."""
    n = int((elapsed - begin) / every)
    keep = max(1, n // 1500)
    return [
        (i, round(begin + i * every, 1), round(float(np.clip(value + rng.normal(), 0, 100)), 1))
        for i in range(0, n, keep)
    ]


def spoil(points: Points, from_step: int, value: float = math.nan, to_step: int | None = None) -> Points:
    """The same points with `value` from a step on (up to and with to_step)."""
    return [(s, t, value if s >= from_step and (to_step is None or s <= to_step) else v) for s, t, v in points]


def shift(points: Points, by: float) -> Points:
    return [(s, round(t + by, 1), v) for s, t, v in points]


def shuffled(rng: Rng, points: Points) -> Points:
    return [points[int(i)] for i in rng.permutation(len(points))]


def use_of(rng: Rng, elapsed: float, *phases: Sequence[float], bin_s: float | None = None) -> Use:
    """Means of bins (by default 120 over the run, at least 10 s long) of phases (from, to, level[, noise]). Bins with
    less than half covered are left out."""
    width = bin_s or max(elapsed / 120.0, 10.0)
    n = max(1, math.ceil(elapsed / width - 1e-9))
    starts, ends, levels = (np.array([p[place] for p in phases]) for place in range(3))
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
        out.append((round(a, 1), round(b, 1), round(float(np.clip(mean + noise * rng.normal(), 0.0, 100.0)), 2)))
    return tuple(out)


def with_pauses(
    elapsed: float,
    pauses: Sequence[tuple[float, float]],
    busy: float,
    low: float,
    begin: float = 0.0,
    begin_level: float = 0.0,
) -> list[tuple[float, ...]]:
    """Phases: `busy` from `begin` on, `low` within the pauses."""
    out: list[tuple[float, ...]] = [(0.0, begin, begin_level, 0.3)] if begin else []
    t = begin
    for a, b in pauses:
        out += [(t, a, busy), (a, b, low, 0.5)]
        t = b
    return [*out, (t, elapsed, busy)] if t < elapsed else out


def cycle(begin: float, end: float, work_s: float, pause_s: float) -> list[tuple[float, float]]:
    """Pauses of pause_s after each work_s."""
    out, t = [], begin + work_s
    while t + pause_s < end:
        out.append((round(t, 1), round(t + pause_s, 1)))
        t += pause_s + work_s
    return out
