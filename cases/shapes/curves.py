"""Curves over the hours of a situation: memory in GB, or busy cores. A number is the same all the time.

`line` goes straight through (hour, value); `steps` hold a value until an hour each; `flat` is reached at once; `saw`
rises from one value to another and falls back each so many hours, `wave` swings between them; `saturates` rises as a
cache does, nine tenths of the way after so many hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cases.readings import Floats

Curve = Callable[[Floats], Floats]
Shape = float | dict[str, Any]


def curve(described: Shape) -> Curve:
    if not isinstance(described, dict):
        return lambda hours: np.full(hours.size, float(described))
    ((name, values),) = described.items()
    return OWN[values] if name == "own" else KINDS[name](values)


def _line(points: list[list[float]]) -> Curve:
    at, values = zip(*points, strict=True)
    return lambda hours: np.asarray(np.interp(hours, at, values), float)


def _steps(phases: list[list[float]]) -> Curve:
    ends, values = np.array([end for end, _ in phases]), np.array([value for _, value in phases])
    return lambda hours: np.asarray(values[np.searchsorted(ends, hours, side="right").clip(0, len(values) - 1)], float)


def _flat(gb: float) -> Curve:
    return lambda hours: np.where(hours < 0.03, 0.6, gb)


def _saw(values: list[float]) -> Curve:
    low, high, every_h = values
    return lambda hours: np.asarray(low + (high - low) * np.mod(hours, every_h) / every_h, float)


def _wave(values: list[float]) -> Curve:
    low, high, every_h = values
    return lambda hours: np.asarray((low + high) / 2 + (high - low) / 2 * np.sin(2 * np.pi * hours / every_h), float)


def _saturates(values: list[float]) -> Curve:
    low, high, nine_tenths_h = values
    return lambda hours: np.asarray(low + (high - low) * (1 - np.exp(-2.3 * hours / nine_tenths_h)), float)


KINDS: Mapping[str, Callable[[Any], Curve]] = {
    "line": _line,
    "steps": _steps,
    "flat": _flat,
    "saw": _saw,
    "wave": _wave,
    "saturates": _saturates,
}
OWN: Mapping[str, Curve] = {
    "not_read": lambda hours: np.full(hours.size, np.nan),
    "rises_to_its_end": lambda hours: 2 + 58 * hours,
    "in_big_pieces": lambda hours: np.minimum(480, 60 + 54 * np.floor(hours / 0.67)),
    "read_two_thirds_of_the_time": lambda hours: np.where((hours * 6).astype(int) % 3 == 1, np.nan, 40 + 73.4 * hours),
    "settles_at_408": lambda hours: 408 * (1 - np.exp(-hours / 1.5)),
    "settles_at_340": lambda hours: 60 + 280 * (1 - np.exp(-hours / 1.5)),
    "freed_three_times_in_two_hours": lambda hours: 100 + 280 * (hours * 1.5 % 1),
    "doubles_each_hour_for_moments": lambda hours: np.where((hours > 0.9) & (hours % 1 < 0.04), 400, 200),
}
