"""What the GPUs and hosts of one run did, as arrays: the value that `analysis` and figures read.

Shapes: G GPUs, N nodes, T time buckets. NaN means not measured, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from wire.payloads import HISTOGRAM_BINS

BUCKETS_MAX = 2048
"""The most points of a run's common clock: nodes send at most 240, and may begin several short runs' lengths apart."""

COLUMNS_AT_ONCE = 512
"""How many timelines are turned from rows into columns together: they fit into a processor's cache."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class JobSeries:
    """Busy percent and memory over time, `(T, G)` each; bucket i covers `[i, i + 1) * step_s` from the job's start."""

    step_s: float
    util: Floats
    mem_gb: Floats

    @property
    def length(self) -> int:
        return int(self.util.shape[0])


@dataclass(frozen=True)
class GpuColumns:
    """What is judged of each GPU, `(G,)` each; `histogram_s` is `(G, 101)` seconds at each whole busy percent."""

    node_index: Ints
    gpu_id: Ints
    module_id: Floats
    avg_util: Floats
    p95_util: Floats
    peak_mem_gb: Floats
    mem_total_gb: Floats
    samples: Floats
    measured_s: Floats
    active_s: Floats
    idle_s: Floats
    power_avg_w: Floats
    power_peak_w: Floats
    power_cap_w: Floats
    energy_j: Floats
    throttled_s: Floats
    histogram_s: Floats

    @property
    def count(self) -> int:
        return int(self.gpu_id.shape[0])

    def only(self, keep: NDArray[np.bool_]) -> GpuColumns:
        """The same columns for the GPUs where `keep` `(G,)` is true."""
        if np.all(keep):
            return self
        return GpuColumns(**{column.name: getattr(self, column.name)[keep] for column in fields(self)})


@dataclass(frozen=True)
class HostColumns:
    """One entry a node, `(N,)` each: physical cores, fractions of the allocated cores, pressure-stall seconds."""

    cores_allocated: Floats
    busy_cores_avg: Floats
    iowait_fraction: Floats
    idle_fraction: Floats
    ranks: Floats
    threads_per_rank: Floats
    peak_memory_gb: Floats
    peak_memory_anon_gb: Floats
    memory_limit_gb: Floats
    oom_kills: Floats
    pressure_cpu_s: Floats
    pressure_memory_s: Floats
    pressure_io_s: Floats


@dataclass(frozen=True)
class RunMetrics:
    """Everything measured of one run; `not_measured` names what is missing and why, as the collectors sent it.

    `errors` is what the collectors could not do, each with its node.
    `own_nodes` are those whose summary the owner of the run sent, not the site's collector. `interim_nodes` have sent
    no summary of the end yet. `is_thinned`: the timelines of some node are no longer stored.
    """

    nodes: tuple[str, ...]
    gpus: GpuColumns
    hosts: HostColumns
    series: JobSeries
    started_at: datetime | None
    ended_at: datetime | None
    is_final: bool
    not_measured: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    own_nodes: tuple[str, ...] = ()
    interim_nodes: tuple[str, ...] = ()
    is_thinned: bool = False


@dataclass(frozen=True)
class NodeTimelines:
    """Timelines of neighbouring GPUs: `util` and `mem_gb` `(P, g)`, first bucket `offset_s` after the job's start.

    As they were stored or as they were measured: any floats. A series that was not sent is `(0, g)`.
    """

    offset_s: float
    step_s: float
    util: NDArray[np.floating]
    mem_gb: NDArray[np.floating]

    @property
    def gpus(self) -> int:
        return int(self.util.shape[1])

    @property
    def points(self) -> int:
        return max(int(self.util.shape[0]), int(self.mem_gb.shape[0]))


HOST_COLUMNS = tuple(column.name for column in fields(HostColumns))
JUDGED_COLUMNS = tuple(
    column.name for column in fields(GpuColumns) if column.name not in {"node_index", "gpu_id", "histogram_s"}
)


def gpu_columns(
    table: Sequence[Sequence[float | None]] | Floats,
    names: Sequence[str],
    node_index: Sequence[int] | Ints,
    histograms: Floats,
) -> GpuColumns:
    """Columns from one row of numbers a GPU, in the order of `names`; None becomes NaN, what is not judged is left."""
    numbers = np.array(table, dtype=np.float64).reshape(len(table), len(names))
    by_name = dict(zip(names, np.ascontiguousarray(numbers.T), strict=True))
    return GpuColumns(
        node_index=np.asarray(node_index, dtype=np.int64),
        gpu_id=by_name["gpu_id"].astype(np.int64),
        histogram_s=histograms.reshape(len(table), HISTOGRAM_BINS),
        **{name: by_name[name] for name in JUDGED_COLUMNS},
    )


def host_columns(rows: Sequence[Mapping[str, object]]) -> HostColumns:
    """Columns from one mapping a node; None and absent become NaN."""
    return HostColumns(**{name: column(rows, name) for name in HOST_COLUMNS})


def column(rows: Sequence[Mapping[str, object]], name: str) -> Floats:
    """One float column `(rows,)`, NaN where a row has no number."""
    return np.asarray([row.get(name) for row in rows], dtype=np.float64).reshape(len(rows))


def highest(values: Floats) -> float | None:
    """The highest known value; None where none is known."""
    return float(np.nanmax(values)) if np.any(~np.isnan(values)) else None


def align(timelines: Iterable[NodeTimelines]) -> JobSeries:
    """All timelines on one clock: the widest bucket of any node, counted from the job's start.

    A bucket of a finer timeline falls whole into the wide bucket that holds its middle; several are averaged,
    gaps left out. Where no GPU has a point the result is NaN.
    """
    timelines = list(timelines)
    gpus = sum(part.gpus for part in timelines)
    used = [part for part in timelines if part.points]
    if not used:
        return JobSeries(step_s=0.0, util=np.empty((0, gpus)), mem_gb=np.empty((0, gpus)))
    # Never more buckets, whatever the rows contain: the data of a run must fit into memory.
    ends_s = max(part.offset_s + part.points * part.step_s for part in used)
    step_s = max(*(part.step_s for part in used), ends_s / BUCKETS_MAX)
    length = 1 + max(int(_bucket_index(part, step_s)[-1]) for part in used)
    util, mem_gb = np.empty((length, gpus)), np.empty((length, gpus))
    first = 0
    for part in timelines:
        columns = slice(first, first + part.gpus)
        index = _bucket_index(part, step_s)
        _put_on_clock(util[:, columns], part.util, index[: len(part.util)])
        _put_on_clock(mem_gb[:, columns], part.mem_gb, index[: len(part.mem_gb)])
        first = columns.stop
    return JobSeries(step_s=step_s, util=util, mem_gb=mem_gb)


def whole_buckets_s(offsets_s: Floats, step_s: float) -> Floats:
    """The offsets in whole buckets that `align` rounds to where all buckets are `step_s` wide.

    >>> whole_buckets_s(np.array([14.0, 16.0]), 30.0).tolist()
    [0.0, 30.0]
    """
    return np.asarray(np.floor(offsets_s / step_s + 0.5) * step_s, dtype=np.float64)


def _bucket_index(part: NodeTimelines, step_s: float) -> Ints:
    middles_s = part.offset_s + (np.arange(part.points) + 0.5) * part.step_s
    return np.asarray(np.maximum(middles_s // step_s, 0), dtype=np.int64)


def _put_on_clock(clock: Floats, values: NDArray[np.floating], index: Ints) -> None:
    """Fill `clock` `(length, g)`: `values` `(P, g)` in the buckets `index` `(P,)`, averaged where several meet."""
    if np.array_equal(index, np.arange(len(clock))):
        for first in range(0, values.shape[1], COLUMNS_AT_ONCE):
            columns = slice(first, first + COLUMNS_AT_ONCE)
            clock[:, columns] = values[:, columns]
        return
    clock[:] = np.nan
    if np.all(index[1:] > index[:-1]):
        clock[index] = values
        return
    sums, counts = np.zeros_like(clock), np.zeros_like(clock)
    is_measured = ~np.isnan(values)
    np.add.at(sums, index, np.where(is_measured, values, 0.0))
    np.add.at(counts, index, is_measured)
    np.divide(sums, counts, out=clock, where=counts > 0)
