"""The figures of a report as SVG or PNG: use over time, memory against capacity, a heatmap of GPUs or nodes.

matplotlib's object interface only; the same input gives the same bytes. The numbers are those of `figure_data`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figure_data import Clock, FigureData, memory_by_gpu, use_by_row, use_over_time
from reports.figure_marks import levels
from reports.svg import on_dark, page_svg
from wire.classes import BOUNDS_PERCENT

SIZES_IN = {"wide": (7.2, 2.1), "broad": (11.4, 2.35), "narrow": (4.2, 2.9), "mail": (5.0, 2.5)}
"""On a screen as narrow as a phone, a smaller picture has larger letters; `broad` fills the width of a page."""

PNG_DPI = 220
CHARACTER_IN = 0.074
"""The average width of a character of a label in the font and size below."""

ROWS_LABELLED_MAX = 16
LABEL_IN = 0.29
"""The width that a slanted label needs so that it does not overlap the next."""
NODES_LABELLED_MAX = 12
"""Names of nodes beside the rows of a heatmap that are too many to be named one by one."""

BAR_WIDTH = 0.72
USE_TICKS = (0.0, *BOUNDS_PERCENT, 100.0)
USE_MAX, MARK_HEIGHT = 104, 17
"""The top of the use figure, and what a row of marks takes above it, in percent of use."""

HEATMAP_TOP_IN = 0.08

INK, MUTED, LINE, ACCENT, BAND, FREE = "#1d2b36", "#5b6b78", "#c9d3da", "#0f6b8f", "#9ecbdd", "#e7edf1"
MARK, PAPER = "#b3005e", "#ffffff"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "kaiku",
    # Text stays text: it can be selected on a page, and the PDF embeds the font.
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "hatch.linewidth": 0.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
mpl.rcParams.update(STYLE)
DRAWING = Lock()
"""matplotlib's settings and font cache are shared by all threads; one figure is drawn at a time."""

METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
"""No time and no version, so that the same input gives the same bytes."""


Size = tuple[float, float]
"""Width and height in inches."""


@dataclass(frozen=True)
class Margins:
    """The room around the axes, in inches: fixed, as matplotlib's own layout engines draw all twice to find it."""

    left: float = 0.61
    right: float = 0.2
    bottom: float = 0.54
    top: float = 0.3

    def rectangle(self, size_in: Size) -> tuple[float, float, float, float]:
        """Left, bottom, width and height of the axes as parts of a picture of this size."""
        width, height = size_in
        inner = (1 - (self.left + self.right) / width, 1 - (self.bottom + self.top) / height)
        return self.left / width, self.bottom / height, *inner


@dataclass(frozen=True)
class Drawing:
    """One figure: how it is painted, and the room that its labels take."""

    paint: Callable[[Axes, FigureData], None]
    margins: Callable[[FigureData, Size], Margins]


def draw(name: str, data: FigureData, size: str = "wide", *, is_dark: bool = False) -> bytes:
    """One figure as SVG, in dark colours on request; KeyError for an unknown name or size."""
    svg = page_svg(_drawn(name, data, size, "svg"), name)
    return on_dark(svg) if is_dark else svg


def draw_png(name: str, data: FigureData) -> bytes:
    """One figure for mail programs, which show no SVG."""
    return _drawn(name, data, "mail", "png")


def _drawn(name: str, data: FigureData, size: str, file_format: str) -> bytes:
    drawing, file, size_in = FIGURES[name], BytesIO(), SIZES_IN[size]
    with DRAWING:
        figure = Figure(figsize=size_in)
        axes = figure.add_axes(drawing.margins(data, size_in).rectangle(size_in))
        drawing.paint(axes, data)
        figure.savefig(file, format=file_format, dpi=PNG_DPI, metadata=METADATA[file_format])
    return file.getvalue()


def axes_box(name: str, data: FigureData, size: str = "wide") -> tuple[float, float, float, float]:
    """Left, top, width and height of the axes as parts of the picture, from its upper left corner."""
    size_in = SIZES_IN[size]
    left, bottom, width, height = FIGURES[name].margins(data, size_in).rectangle(size_in)
    return left, 1 - bottom - height, width, height


def _gpu_use(axes: Axes, data: FigureData) -> None:
    """Mean over the GPUs in each bucket, and the span between the least and the most used one."""
    use = use_over_time(data)
    hours = use.clock.middles
    for boundary in BOUNDS_PERCENT:
        axes.axhline(boundary, color=LINE, linewidth=0.7, linestyle=(0, (4, 4)), zorder=0)
    if use.gpus > 1:
        axes.fill_between(
            hours, use.low, use.high, step="mid", color=BAND, alpha=0.55, linewidth=0, label="least to most used"
        )
    axes.step(hours, use.mean, where="mid", color=ACCENT, linewidth=1.4, label="mean")
    axes.set(xlim=(0, use.clock.end), ylim=(0, USE_MAX), xlabel=_time_label(use.clock), ylabel="GPU use (%)")
    axes.set_yticks(USE_TICKS)
    _mark_findings(axes, data, use.clock)
    if use.gpus > 1:
        _legend(axes)


def _mark_findings(axes: Axes, data: FigureData, clock: Clock) -> None:
    """A line above the use for each finding that has a place in time, with its number; shaded where that is a part."""
    rows = levels(data.marks)
    for mark, row in zip(data.marks, rows, strict=True):
        start, end = (min(second / clock.unit[1], clock.end) for second in (mark.start_s, mark.end_s))
        height = USE_MAX + MARK_HEIGHT * (row + 0.5)
        if mark.is_part:
            axes.axvspan(start, end, color=MARK, alpha=0.08, linewidth=0, zorder=0)
        axes.plot([start, end], [height, height], color=MARK, linewidth=1.6, marker="|", markersize=6, clip_on=False)
        circle = {"boxstyle": "circle,pad=0.22", "facecolor": MARK, "edgecolor": MARK}
        axes.annotate(
            f"{mark.number}", ((start + end) / 2, height), color=PAPER, ha="center", va="center", bbox=circle, size=7.5
        )
    axes.set_ylim(0, USE_MAX + MARK_HEIGHT * (max(rows) + 1 if rows else 0))


def _gpu_memory(axes: Axes, data: FigureData) -> None:
    """A bar a GPU, or the sorted profile of very many; capacity behind it."""
    memory = memory_by_gpu(data)
    count = len(memory.labels)
    if memory.places is None:
        axes.bar(np.arange(count), memory.capacities, width=BAR_WIDTH, color=FREE, label="capacity")
        axes.bar(np.arange(count), memory.peaks, width=BAR_WIDTH, color=ACCENT, label="peak")
    else:
        edges = np.linspace(0, memory.gpus, count + 1)
        axes.stairs(memory.capacities, edges, fill=True, color=FREE, linewidth=0, label="capacity")
        axes.stairs(memory.peaks, edges, fill=True, color=ACCENT, linewidth=0, label="peak")
    axes.set(ylabel="GPU memory (GB)", ylim=(0, None))
    if memory.places is not None:
        axes.set(xlabel="GPUs, fullest first", xlim=(0, memory.gpus))
    else:
        axes.set(xlim=(-0.5, count - 0.5))
        _label_gpus(axes, memory.labels)
    _legend(axes)


def _gpu_heatmap(axes: Axes, data: FigureData) -> None:
    """A row a GPU, or a node where they are many, a column a bucket; grey and hatched where nothing was measured."""
    use = use_by_row(data)
    if np.any(np.isnan(use.util)):
        # Without colours the grey alone would be that of a busy GPU.
        axes.patch.set(facecolor=LINE, edgecolor=MUTED, hatch="////", linewidth=0)
    image = axes.imshow(
        np.ma.masked_invalid(use.util),
        aspect="auto",
        interpolation="nearest",
        cmap=mpl.colormaps["cividis"].with_extremes(bad="none"),
        vmin=0,
        vmax=100,
        extent=(0, use.clock.end, len(use.rows) - 0.5, -0.5),
    )
    axes.set(xlabel=_time_label(use.clock))
    if len(use.rows) <= ROWS_LABELLED_MAX:
        axes.set_yticks(range(len(use.rows)), use.rows)
    else:
        named = use.firsts[:: -(-len(use.firsts) // NODES_LABELLED_MAX)]
        axes.set_yticks([row for row, _ in named], [name for _, name in named])
        axes.set_ylabel(use.title, labelpad=8)
    size_in = _size_in(axes)
    beside = Margins(left=size_in[0] - 0.72, right=0.6, top=HEATMAP_TOP_IN).rectangle(size_in)
    axes.figure.colorbar(image, cax=axes.figure.add_axes(beside), label="GPU use (%)").outline.set_visible(False)


def _time_label(clock: Clock) -> str:
    return f"time since the start ({clock.unit[0]})"


def _size_in(axes: Axes) -> Size:
    """Width and height of the picture, in inches."""
    figure = axes.figure
    return figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi


def _legend(axes: Axes) -> None:
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _label_gpus(axes: Axes, labels: tuple[str, ...]) -> None:
    """Names below the bars, slanted where they are long, or how many there are."""
    if not _has_room(labels, _size_in(axes)):
        axes.set(xlabel=f"{len(labels):,} GPUs, by node", xticks=[])
        return
    is_wide = _is_wide(labels)
    axes.set_xticks(range(len(labels)), labels, rotation=30 if is_wide else 0, ha="right" if is_wide else "center")


def _has_room(labels: tuple[str, ...], size_in: Size) -> bool:
    return len(labels) <= min(ROWS_LABELLED_MAX, int(size_in[0] / LABEL_IN))


def _is_wide(labels: tuple[str, ...]) -> bool:
    return max(map(len, labels)) > len("GPU 10")


def _memory_margins(data: FigureData, size_in: Size) -> Margins:
    """Room for the names below the bars; a label at 30 degrees is half as high as it is long."""
    if not _has_room(data.labels, size_in):
        return Margins()
    longest = max(map(len, data.labels))
    return Margins(bottom=(longest + 6) * CHARACTER_IN / 2 if _is_wide(data.labels) else Margins.bottom / 2)


def _heatmap_margins(data: FigureData, _: Size) -> Margins:
    """Room for the scale on the right, and for the names of few rows on the left."""
    is_named = len(data.labels) <= ROWS_LABELLED_MAX
    longest = max(map(len, data.labels if is_named else data.nodes))
    return Margins(left=(longest + (2 if is_named else 5)) * CHARACTER_IN, right=0.86, top=HEATMAP_TOP_IN)


FIGURES: dict[str, Drawing] = {
    "gpu_use": Drawing(_gpu_use, lambda *_: Margins()),
    "gpu_memory": Drawing(_gpu_memory, _memory_margins),
    "gpu_heatmap": Drawing(_gpu_heatmap, _heatmap_margins),
}
