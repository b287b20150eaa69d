"""The figures of a report as SVG or PNG: use over time, memory against capacity, a heatmap of single GPUs.

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

from metrics.series import Floats, JobSeries, RunMetrics

WIDTH_IN, HEIGHT_IN = 7.2, 2.7
SIZES_IN = {"svg": (WIDTH_IN, HEIGHT_IN), "png": (5.0, 2.5)}
"""Pictures in mail are shown as narrow as a phone, where smaller paper makes larger letters."""
PNG_DPI = 220
BARS_MAX = 64
ROWS_LABELLED_MAX = 16
ROWS_DRAWN_MAX = 512

INK, MUTED, LINE, ACCENT, BAND, FREE = "#1d2b36", "#5b6b78", "#c9d3da", "#0f6b8f", "#9ecbdd", "#e7edf1"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "kaiku",
    "svg.fonttype": "path",
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
    """What the figures show: one label and one peak a GPU `(G,)`, and the timelines `(T, G)`."""

    labels: tuple[str, ...]
    series: JobSeries
    peak_mem_gb: Floats
    mem_total_gb: Floats


def figure_data(metrics: RunMetrics) -> FigureData:
    """The figures' data of one run."""
    gpus = metrics.gpus
    is_single = len(metrics.nodes) == 1
    pairs = zip(gpus.node_index.tolist(), gpus.gpu_id.tolist(), strict=True)
    return FigureData(
        labels=tuple(f"GPU {gpu}" if is_single else f"{metrics.nodes[node]}:{gpu}" for node, gpu in pairs),
        series=metrics.series,
        peak_mem_gb=gpus.peak_mem_gb,
        mem_total_gb=gpus.mem_total_gb,
    )


def draw(name: str, data: FigureData, file_format: str = "svg") -> bytes:
    """One figure as SVG, or as PNG for mail programs, which show no SVG; KeyError for a name that is none."""
    paint, file = FIGURES[name], BytesIO()
    with DRAWING:
        figure = Figure(figsize=SIZES_IN[file_format], layout="constrained")
        paint(figure.add_subplot(), data)
        figure.savefig(file, format=file_format, dpi=PNG_DPI, metadata=METADATA[file_format])
    return file.getvalue()


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
    """A row a GPU, a column a bucket; grey where nothing was measured."""
    util = data.series.util.T
    if util.shape[0] > ROWS_DRAWN_MAX:
        util = _fewer_rows(util)
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
        extent=(0, end, len(data.labels) - 0.5, -0.5),
    )
    axes.set(xlabel=f"time since the start ({unit})")
    if len(data.labels) <= ROWS_LABELLED_MAX:
        axes.set_yticks(range(len(data.labels)), data.labels)
    else:
        axes.set(ylabel=f"{len(data.labels):,} GPUs, by node")
    bar = axes.figure.colorbar(image, ax=axes, label="GPU use (%)", pad=0.015)
    bar.outline.set_visible(False)


def _label_gpus(axes: Axes, labels: tuple[str, ...]) -> None:
    if len(labels) <= ROWS_LABELLED_MAX:
        is_wide = max(map(len, labels)) > len("GPU 10")
        axes.set_xticks(range(len(labels)), labels, rotation=30 if is_wide else 0, ha="right" if is_wide else "center")
    else:
        axes.set(xlabel=f"{len(labels):,} GPUs, by node", xticks=[])


def _fewer_rows(util: Floats) -> Floats:
    """Neighbouring GPUs averaged, so that thousands of rows stay a picture; a gap only where all of them are."""
    groups = np.array_split(np.arange(util.shape[0]), ROWS_DRAWN_MAX)
    rows = np.full((ROWS_DRAWN_MAX, util.shape[1]), np.nan)
    for index, group in enumerate(groups):
        part = util[group]
        measured = ~np.all(np.isnan(part), axis=0)
        rows[index, measured] = np.nanmean(part[:, measured], axis=0)
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
