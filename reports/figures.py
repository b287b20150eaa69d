"""The figures of a report as SVG or PNG: use over time, memory against capacity, a heatmap of GPUs or nodes.

matplotlib's object interface only; the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from metrics.series import Floats, JobSeries, RunMetrics
from reports.job_report import HEATMAP_GPUS_MAX
from reports.numbers import counted
from reports.svg import page_svg

SIZES_IN = {"svg": (7.2, 2.7), "png": (5.0, 2.5)}
"""Pictures in mail are shown as narrow as a phone, where smaller paper makes larger letters."""

PNG_DPI = 220
LEFT_IN, RIGHT_IN, BOTTOM_IN, TOP_IN = 0.61, 0.2, 0.54, 0.3
CHARACTER_IN = 0.074
"""How wide a character of a label is, on average, in the font and size below."""

LABEL_LENGTH_MAX = 20
BARS_MAX = 64
ROWS_LABELLED_MAX = 16
ROWS_DRAWN_MAX = 512

INK, MUTED, LINE, ACCENT, BAND, FREE = "#1d2b36", "#5b6b78", "#c9d3da", "#0f6b8f", "#9ecbdd", "#e7edf1"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "kaiku",
    # Text stays text: it can be selected on a page, and the PDF embeds the font.
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
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
"""Neither a time nor a version, so that the same input gives the same bytes."""

CLASS_LINES_PERCENT = (15, 40, 70)


@dataclass(frozen=True)
class FigureData:
    """What the figures show: one label, one node's index and one peak a GPU `(G,)`, and the timelines `(T, G)`."""

    labels: tuple[str, ...]
    node_index: NDArray[np.int64]
    series: JobSeries
    peak_mem_gb: Floats
    mem_total_gb: Floats


def figure_data(metrics: RunMetrics) -> FigureData:
    """The figures' data of one run."""
    gpus = metrics.gpus
    is_single = len(metrics.nodes) == 1
    pairs = zip(gpus.node_index.tolist(), gpus.gpu_id.tolist(), strict=True)
    return FigureData(
        labels=tuple(f"GPU {gpu}" if is_single else _end_of(f"{metrics.nodes[node]}:{gpu}") for node, gpu in pairs),
        node_index=gpus.node_index,
        series=metrics.series,
        peak_mem_gb=gpus.peak_mem_gb,
        mem_total_gb=gpus.mem_total_gb,
    )


def _end_of(label: str) -> str:
    """The part of a long label that tells it from its neighbours."""
    return label if len(label) <= LABEL_LENGTH_MAX else f"…{label[1 - LABEL_LENGTH_MAX :]}"


def draw(name: str, data: FigureData, file_format: str = "svg") -> bytes:
    """One figure as SVG, or as PNG for mail programs, which show no SVG; KeyError for a name that is none."""
    paint, file = FIGURES[name], BytesIO()
    with DRAWING:
        figure = Figure(figsize=SIZES_IN[file_format])
        axes = figure.add_axes((0, 0, 1, 1))
        _place(axes)
        paint(axes, data)
        figure.savefig(file, format=file_format, dpi=PNG_DPI, metadata=METADATA[file_format])
    return page_svg(file.getvalue(), name) if file_format == "svg" else file.getvalue()


def _place(
    axes: Axes,
    left_in: float = LEFT_IN,
    bottom_in: float = BOTTOM_IN,
    right_in: float = RIGHT_IN,
    top_in: float = TOP_IN,
) -> None:
    """Fixed margins, in inches: matplotlib's own layout engines draw everything twice to find them."""
    width_in, height_in = _size_in(axes)
    size = (1 - (left_in + right_in) / width_in, 1 - (bottom_in + top_in) / height_in)
    axes.set_position((left_in / width_in, bottom_in / height_in, *size))


def _size_in(axes: Axes) -> tuple[float, float]:
    """Width and height of the picture, in inches."""
    figure = axes.figure
    return figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi


def _gpu_use(axes: Axes, data: FigureData) -> None:
    """Mean over the GPUs in each bucket, and the span between the least and the most used one."""
    util = data.series.util
    measured = ~np.all(np.isnan(util), axis=1)
    mean, low, high = (np.full(util.shape[0], np.nan) for _ in range(3))
    mean[measured] = np.nanmean(util[measured], axis=1)
    low[measured], high[measured] = np.nanmin(util[measured], axis=1), np.nanmax(util[measured], axis=1)
    hours, unit = _clock(data.series)
    for boundary in CLASS_LINES_PERCENT:
        axes.axhline(boundary, color=LINE, linewidth=0.7, linestyle=(0, (4, 4)), zorder=0)
    if util.shape[1] > 1:
        axes.fill_between(hours, low, high, step="mid", color=BAND, alpha=0.55, linewidth=0, label="least to most used")
    axes.step(hours, mean, where="mid", color=ACCENT, linewidth=1.4, label="mean")
    axes.set(
        xlim=(0, hours[-1] + hours[0]), ylim=(0, 104), xlabel=f"time since the start ({unit})", ylabel="GPU use (%)"
    )
    axes.set_yticks([0, *CLASS_LINES_PERCENT, 100])
    if util.shape[1] > 1:
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _gpu_memory(axes: Axes, data: FigureData) -> None:
    """A bar a GPU, or the sorted profile of very many; capacity behind it."""
    peaks, capacities = data.peak_mem_gb, data.mem_total_gb
    places = np.arange(peaks.size)
    if peaks.size > BARS_MAX:
        fullest_first = -np.sort(-peaks[~np.isnan(peaks)])
        places = np.linspace(0, fullest_first.size - 1, min(fullest_first.size, ROWS_DRAWN_MAX)).astype(int)
        highest = float(np.nanmax(capacities)) if np.any(~np.isnan(capacities)) else np.nan
        axes.fill_between(places, np.full(places.size, highest), color=FREE, linewidth=0, label="capacity")
        axes.fill_between(places, fullest_first[places], color=ACCENT, linewidth=0, label="peak")
        axes.set(xlabel="GPUs, fullest first", xlim=(0, max(fullest_first.size - 1, 1)))
    else:
        axes.bar(places, capacities, width=0.72, color=FREE, label="capacity")
        axes.bar(places, peaks, width=0.72, color=ACCENT, label="peak")
        _label_gpus(axes, data.labels)
    axes.set(ylabel="GPU memory (GB)", ylim=(0, None))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)


def _gpu_heatmap(axes: Axes, data: FigureData) -> None:
    """A row a GPU, or a node where they are many, a column a bucket; grey where nothing was measured."""
    util, rows = data.series.util.T, counted(len(data.labels), "GPU")
    if util.shape[0] > HEATMAP_GPUS_MAX:
        nodes = np.unique(data.node_index, return_inverse=True)[1]
        util = _averaged_rows(util, nodes)
        rows = f"{counted(util.shape[0], 'node')}, mean of GPUs"
    row_count = util.shape[0]
    if row_count > ROWS_DRAWN_MAX:
        util = _averaged_rows(util, np.arange(row_count) * ROWS_DRAWN_MAX // row_count)
    hours, unit = _clock(data.series)
    colours = mpl.colormaps["cividis"].with_extremes(bad=LINE)
    end = hours[-1] + hours[0]
    image = axes.imshow(
        np.ma.masked_invalid(util),
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        vmin=0,
        vmax=100,
        extent=(0, end, row_count - 0.5, -0.5),
    )
    axes.set(xlabel=f"time since the start ({unit})")
    left_in = LEFT_IN
    if len(data.labels) <= ROWS_LABELLED_MAX:
        axes.set_yticks(range(len(data.labels)), data.labels)
        left_in = (max(map(len, data.labels)) + 1) * CHARACTER_IN
    else:
        axes.set(ylabel=rows)
    scale = axes.figure.add_axes((0, 0, 1, 1))
    _place(axes, left_in, right_in=0.86, top_in=0.08)
    _place(scale, _size_in(axes)[0] - 0.72, right_in=0.6, top_in=0.08)
    axes.figure.colorbar(image, cax=scale, label="GPU use (%)").outline.set_visible(False)


def _label_gpus(axes: Axes, labels: tuple[str, ...]) -> None:
    """Names below the bars, slanted where they are long, or how many there are."""
    if len(labels) > ROWS_LABELLED_MAX:
        axes.set(xlabel=f"{len(labels):,} GPUs, by node", xticks=[])
        return
    longest = max(map(len, labels))
    is_wide = longest > len("GPU 10")
    axes.set_xticks(range(len(labels)), labels, rotation=30 if is_wide else 0, ha="right" if is_wide else "center")
    # A label at 30 degrees is half as high as it is long.
    _place(axes, bottom_in=(longest + 6) * CHARACTER_IN / 2 if is_wide else BOTTOM_IN / 2)


def _averaged_rows(util: Floats, groups: NDArray[np.int64]) -> Floats:
    """The mean of the rows `(G, T)` of each group `(G,)`, groups in order; a gap only where all of a group are."""
    rows = np.full((int(groups.max()) + 1, util.shape[1]), np.nan)
    for group in range(rows.shape[0]):
        part = util[groups == group]
        measured = ~np.all(np.isnan(part), axis=0)
        rows[group, measured] = np.nanmean(part[:, measured], axis=0)
    return rows


def _clock(series: JobSeries) -> tuple[Floats, str]:
    """The middle of each bucket in the unit that suits the run."""
    total_s = series.length * series.step_s
    unit, unit_s = (
        ("hours", 3600.0) if total_s >= 2 * 3600 else ("minutes", 60.0) if total_s >= 120 else ("seconds", 1.0)
    )
    middles: Floats = (np.arange(series.length, dtype=np.float64) + 0.5) * series.step_s / unit_s
    return middles, unit


FIGURES: dict[str, Callable[[Axes, FigureData], None]] = {
    "gpu_use": _gpu_use,
    "gpu_memory": _gpu_memory,
    "gpu_heatmap": _gpu_heatmap,
}
