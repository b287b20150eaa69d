"""The numbers of each figure: those that its picture draws and its table and readings show.

All is derived here once, so a picture and a table cannot disagree. Shapes: G GPUs, T time buckets, R rows.
NaN is not measured and stays so.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metrics.series import Floats, JobSeries, RunMetrics
from reports.figure_marks import Mark
from reports.job_report import HEATMAP_GPUS_MAX
from wire.numbers import counted

LABEL_LENGTH_MAX = 20
BARS_MAX = 64
"""Past this many GPUs the memory figure is their sorted profile."""

PROFILE_POINTS_MAX = 128
ROWS_MAX = 128
"""More rows than this would be thinner than a point: neighbouring nodes are drawn together."""

CELLS_MAX = 8_192
"""The most cells of a heatmap; a page holds every cell twice, as a picture and as a number."""


@dataclass(frozen=True)
class FigureData:
    """What the figures show: one label, one node's index and one peak a GPU `(G,)`, and the timelines `(T, G)`.

    `marks` are the findings that have a place in the time of the run, `nodes` the name of each node by its index.
    """

    labels: tuple[str, ...]
    node_index: NDArray[np.int64]
    series: JobSeries
    peak_mem_gb: Floats
    mem_total_gb: Floats
    nodes: tuple[str, ...]
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Clock:
    """`length` buckets of `step_s` seconds from the start of the job."""

    length: int
    step_s: float

    @property
    def unit(self) -> tuple[str, float]:
        """The unit that suits the run, and its seconds."""
        total_s = self.length * self.step_s
        if total_s >= 2 * 3600:
            return "hours", 3600.0
        return ("minutes", 60.0) if total_s >= 120 else ("seconds", 1.0)

    @property
    def middles(self) -> Floats:
        """The middle of each bucket in that unit, `(T,)`."""
        middles: Floats = (np.arange(self.length, dtype=np.float64) + 0.5) * self.step_s / self.unit[1]
        return middles

    @property
    def end(self) -> float:
        return self.length * self.step_s / self.unit[1]


@dataclass(frozen=True)
class UseOverTime:
    """Percent in each bucket over the GPUs, `(T,)` each: their mean, the least and the most used one."""

    clock: Clock
    gpus: int
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class MemoryByGpu:
    """Peak and capacity in GB of each GPU, or of `PROFILE_POINTS_MAX` places in their order, the fullest first.

    `places` counts from 1 and is None where every GPU is there by name; `gpus` is how many were measured.
    """

    labels: tuple[str, ...]
    peaks: Floats
    capacities: Floats
    gpus: int
    places: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class UseByRow:
    """Percent of each row in each bucket, `(R, T)`: a row is a GPU, a node, or neighbouring nodes.

    `firsts` are the rows that a node begins with, by its name.
    """

    clock: Clock
    rows: tuple[str, ...]
    title: str
    util: Floats
    firsts: tuple[tuple[int, str], ...]


def figure_data(metrics: RunMetrics, marks: tuple[Mark, ...] = ()) -> FigureData:
    """The figures' data of one run, and where its findings lie in time."""
    gpus = metrics.gpus
    is_single = len(metrics.nodes) == 1
    pairs = zip(gpus.node_index.tolist(), gpus.gpu_id.tolist(), strict=True)
    return FigureData(
        labels=tuple(f"GPU {gpu}" if is_single else _end_of(f"{metrics.nodes[node]}:{gpu}") for node, gpu in pairs),
        node_index=gpus.node_index,
        series=metrics.series,
        peak_mem_gb=gpus.peak_mem_gb,
        mem_total_gb=gpus.mem_total_gb,
        nodes=tuple(map(_end_of, metrics.nodes)),
        marks=marks,
    )


def has_numbers(name: str, data: FigureData) -> bool:
    """Whether there is anything of what the figure of this name shows."""
    values = data.peak_mem_gb if name == "gpu_memory" else data.series.util
    return bool(np.any(~np.isnan(values)))


def _end_of(label: str) -> str:
    """The part of a long label that differs from its neighbours."""
    return label if len(label) <= LABEL_LENGTH_MAX else f"…{label[1 - LABEL_LENGTH_MAX :]}"


def use_over_time(data: FigureData) -> UseOverTime:
    """Mean and span of the GPUs that were measured in each bucket."""
    util = data.series.util
    # fmin and fmax pass over gaps and, unlike nanmin and nanmax, copy nothing.
    low, high = np.fmin.reduce(util, axis=1), np.fmax.reduce(util, axis=1)
    mean = averaged_rows(util.T, np.zeros(util.shape[1], dtype=np.int64))[0]
    return UseOverTime(Clock(data.series.length, data.series.step_s), util.shape[1], mean, low, high)


def memory_by_gpu(data: FigureData) -> MemoryByGpu:
    """Every GPU by name, or the sorted profile of very many against the largest capacity."""
    peaks, capacities = data.peak_mem_gb, data.mem_total_gb
    if peaks.size <= BARS_MAX:
        return MemoryByGpu(data.labels, peaks, capacities, int(np.sum(~np.isnan(peaks))))
    fullest_first = -np.sort(-peaks[~np.isnan(peaks)])
    gpus = fullest_first.size
    places = np.linspace(0, gpus - 1, min(gpus, PROFILE_POINTS_MAX)).astype(np.int64)
    highest = float(np.nanmax(capacities)) if np.any(~np.isnan(capacities)) else np.nan
    labels = tuple(f"{place + 1:,} of {gpus:,}" for place in places.tolist())
    return MemoryByGpu(labels, fullest_first[places], np.full(places.size, highest), gpus, places + 1)


def use_by_row(data: FigureData) -> UseByRow:
    """A row a GPU, or a node where they are many; nodes and buckets that no screen could show are averaged."""
    util, rows, title = data.series.util.T, data.labels, counted(len(data.labels), "GPU")
    firsts = _firsts(tuple(data.nodes[node] for node in data.node_index.tolist()))
    if util.shape[0] > HEATMAP_GPUS_MAX:
        _, first, nodes = np.unique(data.node_index, return_index=True, return_inverse=True)
        util = averaged_rows(util, nodes)
        rows = tuple(data.nodes[data.node_index[index]] for index in first.tolist())
        firsts = tuple(enumerate(rows))
        title = f"{counted(util.shape[0], 'node')}, mean of GPUs"
    if util.shape[0] > ROWS_MAX:
        groups = np.arange(util.shape[0]) * ROWS_MAX // util.shape[0]
        util, rows = averaged_rows(util, groups), _spans(rows, groups)
        firsts = tuple(enumerate(name.partition(" to ")[0] for name in rows))
    together = -(-util.size // CELLS_MAX)
    buckets = np.arange(util.shape[1]) // together
    util = averaged_rows(util.T, buckets).T if together > 1 else util
    return UseByRow(Clock(util.shape[1], data.series.step_s * together), rows, title, util, firsts)


def _firsts(nodes: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Where each node begins among the rows of its GPUs.

    >>> _firsts(("a", "a", "b"))
    ((0, 'a'), (2, 'b'))
    """
    return tuple((row, node) for row, node in enumerate(nodes) if row == 0 or nodes[row - 1] != node)


def _spans(names: tuple[str, ...], groups: NDArray[np.int64]) -> tuple[str, ...]:
    """The first and the last name of each group."""
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    lasts = np.append(firsts[1:], groups.size) - 1
    return tuple(f"{names[a]} to {names[b]}" for a, b in zip(firsts.tolist(), lasts.tolist(), strict=True))


def averaged_rows(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """The mean of the rows `(R, T)` of each group `(R,)`, groups in order; a gap only where the whole group has one.

    >>> averaged_rows(np.array([[10.0, np.nan], [30.0, np.nan], [5.0, 7.0]]), np.array([0, 0, 1])).tolist()
    [[20.0, nan], [5.0, 7.0]]
    """
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    is_measured = ~np.isnan(values)
    sums = np.add.reduceat(np.where(is_measured, values, 0.0), firsts, axis=0)
    counts = np.add.reduceat(is_measured, firsts, axis=0, dtype=np.int64)
    means: Floats = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means
