"""Steps that a script logged, from their description: even ones, through knots, in pieces, or of their own kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from cases.drawing import Described
from cases.readings import Floats

HOUR_S = 3600.0
Point = tuple[float, int]
"""Seconds since the start, step."""


class Logged(Described, frozen=True):
    """`total` is what a logged parameter of that name says the run will take, None where it logged none.

    `pieces` are (from hour, step, to hour, step), with points each `every_min` and nothing between them; `knots` are
    (hour, step), logged each `every_s` until `until_h`; without either there are `count` points `every_s` apart from
    `from_s` and `from_step` on, `steps` between two, or as fast as 1000 steps are made at `thousand_at_h`.
    """

    total: int | None = None
    parameter: str = "max_steps"
    pieces: tuple[tuple[float, int, float, int], ...] = ()
    every_min: float = 5.0
    knots: tuple[tuple[float, float], ...] = ()
    until_h: float = 0.0
    every_s: float = 180.0
    from_s: float = 0.0
    from_step: int = 0
    count: int = 0
    steps: int = 0
    thousand_at_h: float = 0.0
    own: str = ""

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(OWN[self.own] if self.own else self._points())

    def _points(self) -> Iterable[Point]:
        if self.pieces:
            return (point for piece in self.pieces for point in _piece(piece, self.every_min))
        if self.knots:
            return _through(self.knots, self.until_h, self.every_s)
        pace = 1000 / (self.thousand_at_h * HOUR_S - self.from_s) if self.thousand_at_h else 0.0
        times = (self.every_s * number for number in range(self.count))
        if pace:
            return ((self.from_s + time_s, round(time_s * pace)) for time_s in times)
        return ((self.from_s + time_s, self.from_step + self.steps * number) for number, time_s in enumerate(times))


def _piece(piece: tuple[float, int, float, int], every_min: float) -> Iterable[Point]:
    from_h, first, to_h, last = piece
    count = max(2, int((to_h - from_h) * 60 / every_min) + 1)
    hours: Floats = np.linspace(from_h, to_h, count)
    steps = np.linspace(first, last, count)
    return [(round(float(hour) * HOUR_S, 1), round(float(step))) for hour, step in zip(hours, steps, strict=True)]


def _through(knots: tuple[tuple[float, float], ...], until_h: float, every_s: float) -> Iterable[Point]:
    times = np.arange(knots[0][0] * HOUR_S + every_s, until_h * HOUR_S, every_s)
    reached = np.interp(times / HOUR_S, [hour for hour, _ in knots], [step for _, step in knots])
    return [(float(at), int(step + 0.01)) for at, step in zip(times, reached, strict=True)]


OWN: Mapping[str, tuple[Point, ...]] = {
    "counts_anew_four_times": tuple((60.0 * n, 10 * (n % 90)) for n in range(1, 360)),
    "stops_to_validate": tuple((60.0 * n, 2 * (n // 140 * 125 + min(n % 140, 125))) for n in range(1, 540)),
}
