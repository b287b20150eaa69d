"""Raw samples as lanes, one a GPU: in each column of the picture what was lowest and highest of all its samples.

So a single sample that stands out is seen however far one looks from. Shapes: T ticks, G GPUs, C columns; NaN is a gap.
"""

import json
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from metrics.selectors import RawSamples
from metrics.series import Floats
from portal.charts.columns import nice_top
from portal.pages.raw_window.span import Span, seconds
from reports.figure_readings import Reading, packed
from wire.numbers import NOT_MEASURED, counted

COLUMNS_MAX, CELLS_MAX, COLUMNS_MIN = 360, 2880, 60
LANE_UNITS, SPACED_UNITS, LANE_PIXELS = 100, 124, 52
"""The height of a lane, with the space to the next, and that in pixels of the page."""

BROKEN_TICKS = 5
"""Where so many ticks in a row are missing, a line is broken."""

PACKED_TOP = 129.0
"""More than this does not fit into the two signs of a packed number with one decimal."""


@dataclass(frozen=True)
class Envelope:
    """The lowest and the highest sample of each GPU in each column, `(C, G)`; `columns` `(S,)` are those with ticks."""

    low: Floats
    high: Floats
    columns: NDArray[np.int64]


@dataclass(frozen=True)
class Lane:
    """One GPU: how far down it stands, and its strokes, each the corners of a polygon."""

    y: int
    strokes: tuple[str, ...]


@dataclass(frozen=True)
class Lanes:
    """One quantity of every GPU of a node, as `_lanes.html` draws it; `numbers` are for the script."""

    key: str
    title: str
    summary: str
    scale: str
    labels: tuple[str, ...]
    lanes: tuple[Lane, ...]
    columns: int
    numbers: dict[str, object]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numbers_id(self) -> str:
        return f"lanes-{self.key}-numbers"

    @property
    def numbers_json(self) -> str:
        return json.dumps(self.numbers, separators=(",", ":"))

    @property
    def height_units(self) -> int:
        return SPACED_UNITS * len(self.lanes)

    @property
    def height_pixels(self) -> int:
        return LANE_PIXELS * len(self.lanes)


def lanes_of(samples: RawSamples, span: Span) -> tuple[Lanes, Lanes]:
    """Use and memory over a span of the window."""
    highest_gb = float(np.fmax.reduce(samples.mem_gb, axis=None, initial=0.0))
    return (
        _lanes("use", "GPU use", " %", samples.util, 100.0, samples, span),
        _lanes("memory", "GPU memory", " GB", samples.mem_gb, nice_top(highest_gb), samples, span),
    )


def envelope(values: NDArray[np.floating], at_s: Floats, span: Span, columns: int) -> Envelope:
    """What `values` `(T, G)`, taken at `at_s` `(T,)`, reach in each of so many columns of a span."""
    inside = (at_s >= span.from_s) & (at_s <= span.to_s)
    place = ((at_s[inside] - span.from_s) / (span.to_s - span.from_s) * columns).astype(np.int64)
    place = np.minimum(place, columns - 1)
    low, high = (np.full((columns, values.shape[1]), np.nan) for _ in range(2))
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    if firsts.size:
        # fmin and fmax pass over gaps.
        low[place[firsts]] = np.fmin.reduceat(values[inside], firsts, axis=0)
        high[place[firsts]] = np.fmax.reduceat(values[inside], firsts, axis=0)
    return Envelope(low, high, place[firsts])


def strokes_of(low: Floats, high: Floats, columns: NDArray[np.int64], broken: float, top: float) -> tuple[str, ...]:
    """The polygons of one GPU `(C,)`: over the highest to the right, back over the lowest; broken at gaps.

    >>> strokes_of(np.array([0.0, 0.0]), np.array([50.0, 100.0]), np.array([0, 1]), 5, 100.0)
    ('0,50 1,0 2,0 2,100 1,100 0,100',)
    """
    known = columns[~np.isnan(high[columns])]
    is_cut = np.diff(np.searchsorted(columns, known)) > 1
    cuts = np.flatnonzero(is_cut | (np.diff(known) > broken)) + 1
    upper, lower = (np.rint(LANE_UNITS * (1 - np.clip(v / top, 0, 1))) for v in (high, low))
    return tuple(_polygon(part, upper[part], lower[part]) for part in np.split(known, cuts) if part.size)


def _polygon(columns: NDArray[np.int64], upper: Floats, lower: Floats) -> str:
    """The last column is as wide as every other, so that also one alone is seen."""
    across = [*columns.tolist(), int(columns[-1]) + 1]
    above, below = [*upper.tolist(), upper[-1]], [*lower.tolist(), lower[-1]]
    corners = [*zip(across, above, strict=True), *reversed([*zip(across, below, strict=True)])]
    return " ".join(f"{x},{y:.0f}" for x, y in corners)


def _lanes(
    key: str, title: str, unit: str, values: NDArray[np.floating], top: float, samples: RawSamples, span: Span
) -> Lanes:
    gpus = values.shape[1]
    columns = max(min(COLUMNS_MAX, CELLS_MAX // gpus), COLUMNS_MIN)
    found = envelope(values, samples.at_s, span, columns)
    column_s = (span.to_s - span.from_s) / columns
    tick_s = float(np.median(np.diff(samples.at_s))) if samples.at_s.size > 1 else span.end_s
    broken = max(BROKEN_TICKS * tick_s / column_s, 1)
    labels = tuple(f"GPU {gpu}" for gpu in samples.gpu_ids)
    drawn = (strokes_of(found.low[:, at], found.high[:, at], found.columns, broken, top) for at in range(gpus))
    rows = _rows(values[(samples.at_s >= span.from_s) & (samples.at_s <= span.to_s)], labels, unit)
    return Lanes(
        key=key,
        title=title,
        summary=f"{title} of {counted(gpus, 'GPU')} on {samples.node}, {span}: {_range(found, unit)}.",
        scale=f"Each lane is 0 to {top:,.10g}{unit}.",
        labels=labels,
        lanes=tuple(Lane(at * SPACED_UNITS + SPACED_UNITS - LANE_UNITS, strokes) for at, strokes in enumerate(drawn)),
        columns=columns,
        numbers=_numbers(found, labels, unit, top, span),
        rows=rows,
    )


def _range(found: Envelope, unit: str) -> str:
    if not np.any(~np.isnan(found.high)):
        return NOT_MEASURED
    return f"between {np.nanmin(found.low):,.1f} and {np.nanmax(found.high):,.1f}{unit}"


def _numbers(found: Envelope, labels: tuple[str, ...], unit: str, top: float, span: Span) -> dict[str, object]:
    """What a pointer reads: in each column of each lane from the lowest to the highest."""
    edges = np.linspace(span.from_s, span.to_s, len(found.low) + 1).tolist()
    texts = tuple(f"{seconds(start, span)} to {seconds(end, span)}" for start, end in pairwise(edges))
    parts = 10 if top <= PACKED_TOP else 1
    cells = {
        name: tuple(packed(column * parts / 10) for column in values.T)
        for name, values in (("lows", found.low), ("cells", found.high))
    }
    reading = Reading({"wide": (0, 0, 1, 1)}, texts, labels)
    return asdict(reading) | cells | {"unit": unit, "parts": parts}


def _rows(values: NDArray[np.floating], labels: tuple[str, ...], unit: str) -> tuple[tuple[str, ...], ...]:
    """Of each GPU: lowest, mean, highest, how many samples, and how many are missing."""
    rows = []
    for at, label in enumerate(labels):
        known = values[:, at][~np.isnan(values[:, at])].astype(np.float64)
        parts = (known.min(), known.mean(), known.max()) if known.size else ()
        shown = tuple(f"{part:,.1f}{unit}" for part in parts) or ("–",) * 3
        rows.append((label, *shown, f"{known.size:,}", f"{len(values) - known.size:,}"))
    return tuple(rows)
