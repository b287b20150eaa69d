"""What can be read off a figure: a text or a number under each place of its axes, and the same numbers as a table.

Made from the numbers that the picture draws (`figure_data`); a table shows a limited number of rows, and states so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.series import Floats
from reports.figure_data import Clock, FigureData, UseOverTime, averaged_rows, memory_by_gpu, use_by_row, use_over_time
from reports.figure_marks import levels
from reports.figures import USE_TICKS, axes_box
from wire.numbers import NOT_MEASURED, counted, gigabytes

Boxes = Mapping[str, tuple[float, float, float, float]]
SIZES_READ = ("wide", "broad", "narrow")
TABLE_ROWS_MAX = 24
TABLE_COLUMNS_MAX = 8
PACKED_BASE, PACKED_LENGTH, PACKED_GAP = 36, 2, "--"
"""A cell of a heatmap takes two characters: tenths of a percent in base 36, as JavaScript's parseInt reads them."""

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Reading:
    """What a pointer reads: one text for each of equal columns, or, where there are `rows`, a percent in each cell.

    `boxes` are the axes as parts of the picture (left, top, width, height), for each size that it is drawn in. What can
    be zoomed has `courses` (mean, least and most used, percent in each column), the seconds of a column, and its marks
    (number, from and to which second, row above the use); `ticks` are the percents that are labelled.
    """

    boxes: Boxes
    texts: tuple[str, ...]
    rows: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    courses: tuple[str, ...] = ()
    step_s: float = 0.0
    marks: tuple[tuple[int, float, float, int], ...] = ()
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Table:
    """The same numbers as text: the first cell of each row is its name; `note` describes a row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str


def readout(name: str, data: FigureData) -> tuple[Reading, Table]:
    """What the figure of this name shows under a pointer and as a table; KeyError for an unknown name."""
    return READERS[name](data, {size: axes_box(name, data, size) for size in SIZES_READ})


def clock_time(seconds: float) -> str:
    """Time since the start.

    >>> clock_time(59.6), clock_time(3723), clock_time(360_000)
    ('0:01:00', '1:02:03', '100:00:00')
    """
    minutes, left_s = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{left_s:02d}"


def said_percent(value: float) -> str:
    """One decimal, NaN in words.

    >>> said_percent(21.96), said_percent(float("nan"))
    ('22.0 %', 'not measured')
    """
    return NOT_MEASURED if np.isnan(value) else f"{value:.1f} %"


def said_gigabytes(value: float) -> str:
    """GB with one decimal, NaN in words."""
    return gigabytes(None if np.isnan(value) else value)


def packed(values: Floats) -> str:
    """Percents, two signs each.

    >>> packed(np.array([0.0, 7.25, 100.0, np.nan]))
    '0020rs--'
    """
    return "".join(PACKED_GAP if np.isnan(value) else _base_36(round(value * 10)) for value in values.tolist())


def _base_36(tenths: int) -> str:
    high, low = divmod(min(max(tenths, 0), PACKED_BASE**PACKED_LENGTH - 1), PACKED_BASE)
    return DIGITS[high] + DIGITS[low]


def _times(clock: Clock, together: int = 1) -> list[str]:
    """When each of so many buckets together begins."""
    return [clock_time(bucket * clock.step_s) for bucket in range(0, clock.length, together)]


def _shared(clock: Clock, most: int) -> tuple[int, np.ndarray]:
    """How many neighbouring buckets share a place of at most `most`, and the place of each bucket `(T,)`."""
    together = -(-clock.length // most)
    return together, np.arange(clock.length) // together


def _time_note(what: str, clock: Clock, together: int) -> str:
    each = f"Each {what} is {clock_time(clock.step_s * together)} (hours:minutes:seconds) of the run"
    return f"{each}, the mean of what was measured." if together > 1 else f"{each}, as measured."


def _use(data: FigureData, boxes: Boxes) -> tuple[Reading, Table]:
    use = use_over_time(data)
    texts = []
    for time, mean, low, high in zip(_times(use.clock), use.mean, use.low, use.high, strict=True):
        span = f", single GPUs {low:.1f} to {high:.1f} %" if use.gpus > 1 and not np.isnan(mean) else ""
        texts.append(f"{time}: {said_percent(mean)}{span}")
    courses = (use.mean, use.low, use.high) if use.gpus > 1 else (use.mean,)
    marks = tuple(
        (mark.number, mark.start_s, mark.end_s, row) for mark, row in zip(data.marks, levels(data.marks), strict=True)
    )
    reading = Reading(
        boxes,
        tuple(texts),
        courses=tuple(map(packed, courses)),
        step_s=use.clock.step_s,
        marks=marks,
        ticks=USE_TICKS,
    )
    return reading, _use_table(use)


def _use_table(use: UseOverTime) -> Table:
    together, places = _shared(use.clock, TABLE_ROWS_MAX)
    mean = averaged_rows(use.mean[:, None], places)[:, 0].tolist()
    rows = []
    for place, (start, value) in enumerate(zip(_times(use.clock, together), mean, strict=True)):
        held = places == place
        ends = (np.nan, np.nan) if np.isnan(value) else (np.nanmin(use.low[held]), np.nanmax(use.high[held]))
        rows.append((start, said_percent(value), *(said_percent(end) for end in ends if use.gpus > 1)))
    more = ("Least used GPU", "Most used GPU") if use.gpus > 1 else ()
    return Table(("From", "Mean GPU use", *more), tuple(rows), _time_note("row", use.clock, together))


def _memory(data: FigureData, boxes: Boxes) -> tuple[Reading, Table]:
    memory = memory_by_gpu(data)
    said = [
        (label, said_gigabytes(peak), said_gigabytes(capacity))
        for label, peak, capacity in zip(memory.labels, memory.peaks, memory.capacities, strict=True)
    ]
    texts = tuple(f"{_gpu(label)}: peak {peak}, capacity {capacity}" for label, peak, capacity in said)
    is_profile = memory.places is not None
    most = TABLE_ROWS_MAX if is_profile else len(said)
    shown = np.unique(np.linspace(0, len(said) - 1, min(len(said), most)).astype(int)).tolist()
    note = f"{counted(memory.gpus, 'GPU')} in order, the fullest first; {len(shown)} of them are shown."
    head = ("GPU", "Peak memory", "Capacity")
    return Reading(boxes, texts), Table(head, tuple(said[index] for index in shown), note if is_profile else "")


def _gpu(label: str) -> str:
    return label if label.startswith("GPU ") else f"GPU {label}"


def _heatmap(data: FigureData, boxes: Boxes) -> tuple[Reading, Table]:
    use = use_by_row(data)
    reading = Reading(boxes, tuple(_times(use.clock)), use.rows, tuple(packed(row) for row in use.util))
    together, places = _shared(use.clock, TABLE_COLUMNS_MAX)
    cells = averaged_rows(use.util.T, places).T
    rows = tuple((name, *_whole_percents(row.tolist())) for name, row in zip(use.rows, cells, strict=True))
    note = f"GPU use in percent, – where it was not measured. {_time_note('column', use.clock, together)}"
    return reading, Table(("From", *_times(use.clock, together)), rows, note)


def _whole_percents(values: Sequence[float]) -> list[str]:
    return ["–" if np.isnan(value) else f"{value:.0f}" for value in values]


READERS: dict[str, Callable[[FigureData, Boxes], tuple[Reading, Table]]] = {
    "gpu_use": _use,
    "gpu_memory": _memory,
    "gpu_heatmap": _heatmap,
}
