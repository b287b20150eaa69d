"""Curves over one axis: measured points as lines, what is read at each place, and the same numbers as a table; pure.

Shapes: P points. A line is broken where a value is no number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from metrics.series import Floats
from portal.charts.columns import HEIGHT, WIDTH, Column
from portal.charts.logged_runs import metric_number

READINGS, TABLE_ROWS = 60, 12
POINTS_MAX = 600
"""Points of one line, more than its pixels: of more the extremes of neighbours are drawn."""

NO_VALUE = "no value"
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """From `first` to `last`, which lies behind it, and how a place on it is written."""

    first: float
    last: float
    written: Callable[[float], str]

    def x_of(self, at: Floats) -> Floats:
        """Places in the box of the chart."""
        placed: Floats = WIDTH * (at - self.first) / (self.last - self.first)
        return placed

    @property
    def ticks(self) -> tuple[str, ...]:
        return tuple(self.written(self.first + part * (self.last - self.first)) for part in (0.0, 0.5, 1.0))


@dataclass(frozen=True)
class Curve:
    """Values `(P,)` at places `(P,)` of the axis in their order; `low` and `high` `(P,)` are a span around them.

    `is_held`: a value holds until the next one, as a metric's; else it is that of its place alone. `unit` follows
    values in words.
    """

    name: str
    css_class: str
    at: Floats
    values: Floats
    low: Floats | None = None
    high: Floats | None = None
    is_held: bool = True
    unit: str = ""

    def said(self, start: float, end: float) -> str:
        """What it was in this part of the axis: the last value in it, else the one before while others follow."""
        before_end = int(np.searchsorted(self.at, end, side="right"))
        if before_end == 0 or (self.at[before_end - 1] < start and (before_end == self.at.size or not self.is_held)):
            return NO_VALUE
        value = float(self.values[before_end - 1])
        if np.isnan(value) and not self.is_held:
            return "not measured"
        return f"{metric_number(value)}{self.unit}"


@dataclass(frozen=True)
class DrawnLine:
    """One curve in the picture; `is_coarse` where only a short row of numbers of it is kept."""

    name: str
    css_class: str
    strokes: tuple[str, ...]
    spans: tuple[str, ...] = ()
    is_coarse: bool = False


@dataclass(frozen=True)
class LineChart:
    """Lines on one axis with these `ticks`; `rows` are some of the readings as a table."""

    summary: str
    scale: tuple[str, ...]
    ticks: tuple[str, ...]
    lines: tuple[DrawnLine, ...]
    columns: tuple[Column, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def is_empty(self) -> bool:
        return not any(line.strokes for line in self.lines)


@dataclass(frozen=True)
class Titled:
    """What stands around a chart."""

    key: str
    title: str
    axis_name: str
    note: str = ""


@dataclass(frozen=True)
class CurveChart(Titled, LineChart):
    """Curves on one axis; `events` are places where something happened, `edges` where a part begins or ends."""

    events: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()


def curve_chart(
    titled: Titled,
    curves: Sequence[Curve],
    axis: Axis,
    *,
    bounds: tuple[float, float] | None = None,
    events: Sequence[float] = (),
    edges: Sequence[float] = (),
) -> CurveChart:
    """The curves on this axis; `bounds` of the values where they are given, else such that all are seen."""
    bottom, top = bounds or value_bounds(curves)
    edges_of_columns = np.linspace(axis.first, axis.last, READINGS + 1)
    said = [
        (axis.written((start + end) / 2), *(curve.said(start, end) for curve in curves))
        for start, end in zip(edges_of_columns[:-1].tolist(), edges_of_columns[1:].tolist(), strict=True)
    ]
    unit = curves[0].unit if curves else ""
    width = WIDTH / READINGS
    return CurveChart(
        **vars(titled),
        summary=f"{titled.title} over {titled.axis_name}: {_range(curves)}.",
        scale=tuple(f"{metric_number(value)}{unit}" for value in (top, (top + bottom) / 2, bottom)),
        ticks=axis.ticks,
        lines=tuple(_line(curve, axis, bottom, top) for curve in curves),
        columns=tuple(
            Column(round(place * width, 1), round(width, 1), (), reading([curve.name for curve in curves], row))
            for place, row in enumerate(said)
        ),
        head=("", *(curve.name for curve in curves)),
        rows=tuple(said[:: READINGS // TABLE_ROWS]),
        events=tuple(np.round(axis.x_of(np.array(events, dtype=np.float64)), 1).tolist()),
        edges=tuple(np.round(axis.x_of(np.array(edges, dtype=np.float64)), 1).tolist()),
    )


def value_bounds(curves: Sequence[Curve]) -> tuple[float, float]:
    """Round numbers below and above all values.

    >>> at = np.array([0.0, 1.0])
    >>> value_bounds([Curve("a", "", at, np.array([0.13, 2.4]))])
    (0.0, 2.5)
    >>> value_bounds([Curve("a", "", at, np.array([71.2, 74.9]))]), value_bounds([])
    ((71.0, 75.0), (0.0, 1.0))
    >>> value_bounds([Curve("a", "", at, np.array([5.0, 5.0]))])
    (4.0, 6.0)
    """
    finite = [curve.values[np.isfinite(curve.values)] for curve in curves]
    values = np.concatenate([*finite, np.zeros(0)])
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low >= 0 and low <= high / 3:
        low = 0.0
    span = high - low
    if span <= abs(high) * 1e-9:
        around = abs(high) * 0.2 or 1.0
        return low - around, high + around
    step = _round_step(span / 5)
    return round(floor(low / step) * step, 12), round(-floor(-high / step) * step, 12)


def drawn_places(values: Floats, most: int = POINTS_MAX) -> list[int]:
    """Which of very many points are drawn: the first, least, greatest and last of equal groups.

    >>> drawn_places(np.array([1.0, 5.0, 2.0, 0.0, 3.0, 3.0, 3.0, 3.0]), 4)
    [0, 1, 3, 7]
    """
    if values.size <= most:
        return list(range(values.size))
    places: set[int] = set()
    for group in np.array_split(np.arange(values.size), max(most // 4, 1)):
        places |= {int(group[0]), int(group[-1])}
        known = group[np.isfinite(values[group])]
        if known.size:
            places |= {int(known[pick(values[known])]) for pick in (np.argmin, np.argmax)}
    return sorted(places)


def _round_step(least: float) -> float:
    unit = 10.0 ** floor(log10(least))
    return next(step * unit for step in ROUND if least <= step * unit * (1 + 1e-9))


def reading(names: Sequence[str], row: tuple[str, ...]) -> str:
    """What is read at one place: the values behind the name of the place."""
    parts = (f"{name} {value}" for name, value in zip(names, row[1:], strict=True))
    return f"{row[0]}: {', '.join(parts)}"


def _range(curves: Sequence[Curve]) -> str:
    parts = []
    for curve in curves:
        known = curve.values[np.isfinite(curve.values)]
        if known.size:
            low, high = (metric_number(float(value)) for value in (known.min(), known.max()))
            parts.append(f"{curve.name} between {low} and {high}{curve.unit}")
        else:
            parts.append(f"{curve.name} has no numbers")
    return "; ".join(parts) or "nothing"


def _line(curve: Curve, axis: Axis, bottom: float, top: float) -> DrawnLine:
    places = drawn_places(curve.values)
    x = axis.x_of(curve.at[places])
    height = top - bottom

    def y_of(values: Floats) -> Floats:
        placed: Floats = HEIGHT * (1 - (np.clip(values[places], bottom, top) - bottom) / height)
        return placed

    parts = _parts(np.isfinite(curve.values[places]))
    y = y_of(np.where(np.isfinite(curve.values), curve.values, np.nan))
    strokes = tuple(_corners(x[part], y[part]) for part in parts)
    spans: tuple[str, ...] = ()
    if curve.low is not None and curve.high is not None:
        low, high = y_of(curve.low), y_of(curve.high)
        spans = tuple(f"{_corners(x[part], high[part])} {_corners(x[part][::-1], low[part][::-1])}" for part in parts)
    return DrawnLine(curve.name, curve.css_class, strokes, spans)


def _parts(is_known: np.ndarray) -> list[np.ndarray]:
    """The places of each stretch without a gap."""
    known = np.flatnonzero(is_known)
    if not known.size:
        return []
    return np.split(known, np.flatnonzero(np.diff(known) > 1) + 1)


def _corners(x: Floats, y: Floats) -> str:
    """Corners of a line; a single one twice, so that it is seen."""
    pairs = [f"{left:.1f},{down:.1f}" for left, down in zip(x.tolist(), y.tolist(), strict=True)]
    return " ".join(pairs if len(pairs) > 1 else pairs * 2)
