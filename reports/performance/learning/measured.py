"""The measured parts of a learning document, from the row of a run and the facts it was judged from."""

from collections.abc import Callable

import numpy as np

from analysis.causes.stalls import share_of_run, waits_of
from analysis.facts import JobFacts
from analysis.scaling import Scaling
from metrics.series import Floats
from reports.performance.learning.document import (
    EnergyMetrics,
    GpuMetrics,
    HostMetrics,
    IoMetrics,
    MemoryMetrics,
    ParallelResults,
    PerformanceMetrics,
)
from reports.performance.rows import PerformanceRow

IDLE_PERCENT = 1.0
"""A busiest GPU below it did nothing that could be balanced."""


def performance_metrics(row: PerformanceRow, facts: JobFacts | None) -> PerformanceMetrics:
    """The numbers of the report; `facts` is None where the run was not analysed."""
    return PerformanceMetrics.of(
        row,
        gpu=_gpu(row, facts),
        memory=MemoryMetrics.of(
            row, oom_kills=None if facts is None else _whole(_known(np.sum, facts.hosts.oom_kills))
        ),
        host=HostMetrics.of(
            row,
            cpu_utilization=None if facts is None else facts.busy_host_fraction,
            pressure_cpu_fraction=None if facts is None else share_of_run(facts.hosts.pressure_cpu_s, facts),
        ),
        io=_io(row, facts),
        energy=_energy(row, facts),
    )


def parallel_results(row: PerformanceRow, facts: JobFacts | None, scaled: Scaling | None) -> ParallelResults:
    """How the work was divided over the GPUs, as far as that was measured; no scaling where its runs disagree."""
    counts = [] if scaled is None or scaled.too_fast or scaled.is_noisy else list(scaled.counts)
    own = next((count for count in counts if count.gpus == row.gpus_allocated and count.efficiency_fraction), None)
    return ParallelResults(
        scaling_efficiency=own.efficiency_fraction if own else None,
        scaling_baseline_gpus=counts[0].gpus if own else None,
        scaling_runs=own.runs if own else None,
        load_balance=None if facts is None else load_balance(facts.gpus.avg_util),
        waiting_fraction=idle_fraction(row),
    )


def load_balance(avg_util: Floats) -> float | None:
    """Mean divided by highest use `(G,)`, 0..1; None for fewer than two GPUs, and where none worked.

    As POP's load balance efficiency, with the busy time of the GPUs
    (https://co-design.pop-coe.eu/metrics/load_balance_efficiency.html).

    >>> load_balance(np.array([80.0, 40.0])), load_balance(np.array([80.0]))
    (0.75, None)
    """
    if avg_util.size < 2 or np.max(avg_util) <= IDLE_PERCENT:
        return None
    return min(float(np.mean(avg_util) / np.max(avg_util)), 1.0)


def idle_fraction(row: PerformanceRow) -> float | None:
    """The idle share of the measured GPU time, from the bill: of a partial run its hours are of the measured part."""
    if row.idle_gpu_hours is None or not row.gpu_hours or row.coverage_fraction is None:
        return None
    measured = row.gpu_hours * (row.coverage_fraction if row.is_partial else 1.0)
    return min(row.idle_gpu_hours / measured, 1.0) if measured else None


def _gpu(row: PerformanceRow, facts: JobFacts | None) -> GpuMetrics:
    utils = facts.gpus.avg_util if facts is not None and facts.gpus.count else None
    return GpuMetrics.of(
        row,
        avg_util_percent=row.avg_gpu_util_percent,
        lowest_util_percent=None if utils is None else float(np.min(utils)),
        highest_util_percent=None if utils is None else float(np.max(utils)),
        idle_fraction=idle_fraction(row),
        throttled_fraction=None if facts is None else _throttled(facts),
    )


def _io(row: PerformanceRow, facts: JobFacts | None) -> IoMetrics:
    waits = None if facts is None else waits_of(facts)
    return IoMetrics.of(
        row,
        iowait_fraction=waits.iowait_fraction if waits else None,
        pressure_io_fraction=waits.io_pressure_fraction if waits else None,
    )


def _energy(row: PerformanceRow, facts: JobFacts | None) -> EnergyMetrics:
    if facts is None:
        return EnergyMetrics()
    gpus = facts.gpus
    return EnergyMetrics.of(
        row,
        module_power_avg_w=_known(np.mean, gpus.power_avg_w),
        module_power_peak_w=_known(np.max, gpus.power_peak_w),
        module_power_cap_w=_known(np.max, gpus.power_cap_w),
    )


def _throttled(facts: JobFacts) -> float | None:
    """The throttled share of the measured time of the GPUs that report it."""
    is_known = ~np.isnan(facts.gpus.throttled_s) & (facts.measured_s > 0)
    if not np.any(is_known):
        return None
    return min(float(np.sum(facts.gpus.throttled_s[is_known]) / np.sum(facts.measured_s[is_known])), 1.0)


def _known(figure: Callable[[Floats], np.floating], values: Floats) -> float | None:
    """A figure of the measured values; None where none is."""
    known = values[~np.isnan(values)]
    return float(figure(known)) if known.size else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
