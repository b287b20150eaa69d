"""What is known of one run before it is judged: Slurm's record, the trusted measurements, the hardware.

Same-model GPUs are checked for consistency first; one that fails is named and left out of every mean.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from analysis.node_errors import node_errors
from analysis.progress.logged import LoggedRun
from analysis.thresholds import LIMITS, Limits
from analysis.turns import GpuTurns, gpu_turns
from analysis.validation import trusted
from jobs.billing import Allocation, gpu_hours
from jobs.hardware import Partition, partition_of
from jobs.hostlist import short_name
from jobs.records import JobRecord
from jobs.sbatch_shape import is_exclusive
from metrics.series import Floats, GpuColumns, HostColumns, Ints, JobSeries, RunMetrics

UNKNOWN_HARDWARE = "price and power: the hardware of this partition is not described in the site profile"
USUAL_FIELDS = ("p95_util", "measured_s", "samples")
NAMED_MAX = 20
"""The most single GPUs that a report names, for people to read."""
EARLY_ENDS = frozenset({"CANCELLED", "FAILED"})
IDLE_BINS = slice(0, 2)  # histogram bins 0 and 1: busy percent at most 1


@dataclass(frozen=True)
class JobFacts:
    """One run, ready to be judged: `gpus` holds only GPUs whose use was measured and is consistent.

    `own_nodes` are those of `nodes` that the owner of the run measured, not the site; `interim_nodes` sent no summary
    of its end. `unread_gpus` were reported, but without a use that can be read. `logged` are what scripts logged.
    """

    record: JobRecord
    partition: Partition | None
    gpus: GpuColumns
    hosts: HostColumns
    nodes: tuple[str, ...]
    series: JobSeries
    not_measured: tuple[str, ...]
    limits: Limits = LIMITS
    own_nodes: tuple[str, ...] = ()
    interim_nodes: tuple[str, ...] = ()
    unread_gpus: int = 0
    logged: tuple[LoggedRun, ...] = ()

    @property
    def elapsed_s(self) -> float:
        return run_seconds(self.record)

    @property
    def allocated_gpus(self) -> int:
        return self.record.gpus_allocated or self.record.gpus_requested or self.gpus.count

    @property
    def unasked_gpus(self) -> int:
        """GPUs that the site allocated beyond the request, as with whole nodes: the user did not choose them."""
        return max(self.allocated_gpus - (self.record.gpus_requested or self.allocated_gpus), 0)

    @property
    def is_exclusive(self) -> bool:
        """Whether the run was allocated whole nodes."""
        return self._asked_whole_nodes or bool(self.partition and self.partition.is_exclusive)

    @property
    def _asked_whole_nodes(self) -> bool:
        """Whether whole nodes came from --exclusive; not on a partition that allocates only whole nodes."""
        gives_no_others = bool(self.partition and self.partition.is_exclusive)
        return is_exclusive(self.record.request) or bool(self.record.is_exclusive and not gives_no_others)

    @property
    def is_use_judged(self) -> bool:
        """Whether GPU use can be judged: the run was not too short, and not ended early or by the system."""
        is_long = self.elapsed_s >= self.limits.short_job_s
        return is_long and not self.ended_early and not self.record.is_system_failure

    @property
    def ended_early(self) -> bool:
        """Whether the run failed or was cancelled before its use says anything about its work."""
        return self.record.state in EARLY_ENDS and self.elapsed_s < self.limits.early_end_s

    @cached_property
    def is_idle(self) -> NDArray[np.bool_]:
        """Which GPUs `(G,)` were idle for nearly the whole run; false where the idle time is not known."""
        return np.asarray(self.idle_fractions >= self.limits.idle_gpu_fraction, dtype=bool)

    @cached_property
    def did_work(self) -> NDArray[np.bool_]:
        """Which GPUs `(G,)` worked at some time: a mostly idle run may include a few minutes of real work."""
        worked = ~self.is_idle
        active_s = self.measured_s * (1 - self.idle_fractions)
        idle = np.flatnonzero(self.is_idle & ~(active_s < self.limits.worked_s))
        if idle.size and self.series.length:
            worked[idle] = self._longest_work_s(idle) >= self.limits.worked_s * self.limits.active_gpu_percent / 100
        return worked

    @cached_property
    def turns(self) -> GpuTurns | None:
        """Which of the working GPUs worked when; None where the timeline does not show it."""
        return gpu_turns(self.series, self.did_work, self.limits)

    @cached_property
    def working_use(self) -> Floats:
        """Mean busy percent over time `(T,)` of the GPUs that worked; NaN where none was measured."""
        util = self.series.util if np.all(self.did_work) else self.series.util[:, self.did_work]
        sums = np.sum(util, axis=1)
        if not np.any(np.isnan(sums)):
            return divide(sums, np.full(sums.size, float(util.shape[1])))
        is_known = ~np.isnan(util)
        sums = np.sum(util, axis=1, where=is_known)
        return divide(sums, np.count_nonzero(is_known, axis=1).astype(np.float64))

    def _longest_work_s(self, gpus: NDArray[np.int64]) -> Floats:
        """Fully busy seconds in the longest stretch of work of these GPUs; single readings do not count."""
        util = np.nan_to_num(self.series.util[:, gpus])
        busy_s = util / 100 * self.series.step_s
        stretch, longest = np.zeros(gpus.size), np.zeros(gpus.size)
        for now_s, percent in zip(busy_s, util, strict=True):
            stretch = np.where(percent > self.limits.idle_util_percent, stretch + now_s, 0.0)
            longest = np.maximum(longest, stretch)
        return longest

    @cached_property
    def measured_s(self) -> Floats:
        """Seconds each GPU was measured `(G,)`; the whole run for a GPU without its own count."""
        return np.where(np.isnan(self.gpus.measured_s), self.elapsed_s, self.gpus.measured_s)

    @cached_property
    def avg_gpu_util(self) -> float | None:
        """Busy percent over the measured GPUs, weighted by measured seconds; None when nothing was measured."""
        return weighted_mean(self.gpus.avg_util, self.measured_s)

    @cached_property
    def coverage_fraction(self) -> float:
        """Measured share of the allocated GPU-seconds, at most 1; no GPU counts for longer than the run."""
        allocated_gpu_s = self.allocated_gpus * self.elapsed_s
        if self.gpus.count == 0 or allocated_gpu_s <= 0:
            return 0.0
        return min(float(np.sum(np.minimum(self.measured_s, self.elapsed_s))) / allocated_gpu_s, 1.0)

    @cached_property
    def host_coverage_fraction(self) -> float:
        """Share of the allocated nodes whose cores were measured, at most 1."""
        return min(float(np.sum(~np.isnan(self.hosts.cores_allocated))) / self.held.nodes, 1.0)

    @cached_property
    def cores(self) -> tuple[Floats, Floats]:
        """Busy and allocated cores `(N,)` of the nodes where both are known; Slurm's count where a node had none."""
        allocated, busy = self.hosts.cores_allocated, self.hosts.busy_cores_avg
        if self.record.cpus_allocated and self.record.node_count:
            by_slurm = self.record.cpus_allocated / self.record.node_count
            allocated = np.where(np.isnan(allocated), by_slurm, allocated)
        is_known = ~np.isnan(busy) & (allocated > 0)
        return busy[is_known], allocated[is_known]

    @cached_property
    def host_peaks_gb(self) -> Floats:
        """Host memory that the work needed on each node `(N,)`: without page cache where known, because the kernel
        frees cache; a run that was killed for lack of memory needed all of it."""
        hosts = self.hosts
        is_own = ~np.isnan(hosts.peak_memory_anon_gb) & ~(hosts.oom_kills > 0)
        return np.where(is_own, hosts.peak_memory_anon_gb, hosts.peak_memory_gb)

    @property
    def busy_cores(self) -> float | None:
        """Busy cores over the nodes where they were measured; None where not measured anywhere."""
        busy, _ = self.cores
        return float(np.sum(busy)) if busy.size else None

    @property
    def busy_host_fraction(self) -> float | None:
        """Share of the allocated cores that was busy, 0..1; None where not measured."""
        busy, allocated = self.cores
        return min(float(np.sum(busy) / np.sum(allocated)), 1.0) if busy.size else None

    @cached_property
    def idle_fractions(self) -> Floats:
        """Share of its measured seconds each GPU was idle `(G,)`, at least; NaN where no number shows it."""
        histogram_s = self.gpus.histogram_s
        total_s = histogram_s.sum(axis=1)
        from_histogram = divide(histogram_s[:, IDLE_BINS].sum(axis=1), total_s)
        from_count = divide(self.gpus.idle_s, self.gpus.measured_s)
        known = np.where(np.isnan(from_count), from_histogram, from_count)
        # A mean of m percent leaves at most the share m of the time above one percent.
        from_mean = np.where(self.gpus.avg_util <= 1 - self.limits.idle_gpu_fraction, 1 - self.gpus.avg_util, np.nan)
        return np.minimum(np.where(np.isnan(known), from_mean, known), 1.0)

    @cached_property
    def idle_fraction(self) -> float | None:
        """Mean idle share over the measured GPUs."""
        return weighted_mean(self.idle_fractions, self.measured_s)

    @cached_property
    def memory_fractions(self) -> Floats:
        """Peak memory of each GPU as a share of its capacity `(G,)`, NaN where either is unknown."""
        return divide(self.gpus.peak_mem_gb, self.memory_capacity_gb)

    @cached_property
    def memory_capacity_gb(self) -> Floats:
        """Capacity of each GPU `(G,)`: as measured, else as described for the partition's hardware."""
        known_gb = self.partition.node.gpu_memory_gb if self.partition else np.nan
        return np.where(np.isnan(self.gpus.mem_total_gb), known_gb, self.gpus.mem_total_gb)

    @cached_property
    def energy_j(self) -> float | None:
        """Energy of the GPUs, only when every module reported it.

        On MI250X the primary die reports the whole module (AMD SMI documentation; rocm_smi_lib issue 160), so one
        reading for each module is complete, and a sum over fewer would be too low.
        """
        energies_j = self.gpus.energy_j[~np.isnan(self.gpus.energy_j)]
        gpus_per_module = self.partition.node.gpus_per_module if self.partition else 1
        if not energies_j.size or energies_j.size * gpus_per_module < self.allocated_gpus:
            return None
        return float(energies_j.sum())

    @property
    def held(self) -> Allocation:
        """What the run was allocated, as billed: by Slurm, else by its nodes' own limits.

        Where neither is known it is the share of its GPUs, or what was used where that is more.
        """
        record, node = self.record, self.partition.node if self.partition else None
        gpus, hosts = self.allocated_gpus, self.hosts
        share_cores = _limits(hosts.cores_allocated, hosts.busy_cores_avg, gpus * node.cores_per_gpu if node else 0)
        share_gb = _limits(hosts.memory_limit_gb, hosts.peak_memory_gb, gpus * node.host_memory_share_gb if node else 0)
        return Allocation(
            nodes=record.node_count or len(record.nodes) or max(len(self.nodes), 1),
            gpus=gpus,
            cores=record.cpus_allocated if record.cpus_allocated is not None else math.ceil(share_cores),
            memory_gb=record.memory_requested_gb if record.memory_requested_gb is not None else share_gb,
            is_exclusive=self._asked_whole_nodes,
        )

    @property
    def gpu_hours(self) -> float | None:
        return gpu_hours(self.partition, self.held, self.elapsed_s)


def job_facts(
    record: JobRecord, metrics: RunMetrics, limits: Limits = LIMITS, logged: Sequence[LoggedRun] = ()
) -> JobFacts:
    """The facts of one run from Slurm's record and what the collectors measured."""
    kept = trusted(record, metrics, run_seconds(record))
    own = set(kept.metrics.nodes)
    errors = [(node, text) for node, text in metrics.errors if node in own]
    metrics = kept.metrics
    is_measured = ~np.isnan(metrics.gpus.avg_util)
    is_consistent, reasons = consistency(metrics, limits)
    keep = is_measured & is_consistent
    partition = partition_of(record.cluster, record.partition)
    return JobFacts(
        record=record,
        partition=partition,
        gpus=metrics.gpus.only(keep),
        hosts=metrics.hosts,
        nodes=metrics.nodes,
        series=_series_of(metrics.series, keep),
        not_measured=(
            *node_errors(errors),
            *_not_said_by(metrics.not_measured, errors),
            *kept.reasons,
            *reasons,
            *_absent_nodes(record, metrics),
            *(() if partition else (UNKNOWN_HARDWARE,)),
        ),
        limits=limits,
        own_nodes=tuple(sorted({*metrics.nodes} & {*metrics.own_nodes})),
        interim_nodes=tuple(sorted({*metrics.nodes} & {*metrics.interim_nodes})),
        unread_gpus=int(np.count_nonzero(~is_measured)),
        logged=tuple(logged),
    )


def run_seconds(record: JobRecord) -> float:
    """Elapsed seconds of the run: Slurm's count, else the clock between start and end, else 0."""
    if record.walltime_used_s is not None:
        return record.walltime_used_s
    if record.started_at and record.ended_at:
        return max((record.ended_at - record.started_at).total_seconds(), 0.0)
    return 0.0


def consistency(metrics: RunMetrics, limits: Limits = LIMITS) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Which GPUs `(G,)` agree with their peers, and a sentence for each that does not.

    They must agree in capacity, in having what most of their peers have, and with the GPUs of their own node in sample
    count: a node may start late or sample at another interval.
    """
    gpus = metrics.gpus
    odd_capacity = _differs(gpus.mem_total_gb, limits.consistency_fraction)
    odd_samples = _differs(gpus.samples, limits.consistency_fraction, gpus.node_index)
    is_read = ~np.isnan(gpus.avg_util)
    lacks_fields = is_read & np.any([_lacks(getattr(gpus, name), is_read) for name in USUAL_FIELDS], axis=0)
    is_odd = odd_capacity | odd_samples | lacks_fields
    odd = np.flatnonzero(is_odd)
    reasons = []
    for index in odd[:NAMED_MAX]:
        what = "capacity" if odd_capacity[index] else "sample count" if odd_samples[index] else "set of fields"
        node = metrics.nodes[gpus.node_index[index]]
        reasons.append(f"GPU {gpus.gpu_id[index]} on {node}: {what} differs from its peers, left out of the mean")
    if odd.size > NAMED_MAX:
        reasons.append(f"and {odd.size - NAMED_MAX:,} more GPUs that differ from their peers")
    return ~is_odd, tuple(reasons)


def _limits(limits: Floats, used: Floats, share: float) -> float:
    """The sum of all nodes' limits `(N,)` where each is known, else the share, but no less than what was used."""
    if limits.size and not np.any(np.isnan(limits)):
        return float(np.sum(limits))
    return max(share, float(np.nansum(used)))


def weighted_mean(values: Floats, weights: Floats) -> float | None:
    """Mean of `values` weighted by `weights`, NaN left out; None when no weight is left."""
    is_known = ~np.isnan(values) & ~np.isnan(weights)
    total = float(np.sum(weights[is_known]))
    if total <= 0:
        return float(np.mean(values[is_known])) if np.any(is_known) else None
    mean = float(np.sum(values[is_known] * weights[is_known]) / total)
    # Rounding may exceed the highest value by the last digit.
    return min(mean, float(np.max(values[is_known])))


def divide(dividend: Floats, divisor: Floats) -> Floats:
    """Element-wise quotient, NaN where the divisor is (nearly) zero or either is unknown."""
    quotient: Floats = np.full(dividend.shape, np.nan)
    with np.errstate(over="ignore"):
        np.divide(dividend, divisor, out=quotient, where=divisor > 0)
    quotient[np.isinf(quotient)] = np.nan
    return quotient


def _differs(values: Floats, fraction: float, group: Ints | None = None) -> NDArray[np.bool_]:
    """Where a value lies further than `fraction` from the upper median of its peers, those of its `group` `(G,)`."""
    known = np.flatnonzero(~np.isnan(values))
    if not known.size:
        return np.zeros(values.shape, dtype=bool)
    groups = np.zeros(values.shape, dtype=np.int64) if group is None else group
    in_order = known[np.lexsort((values[known], groups[known]))]
    _, first, counts = np.unique(groups[in_order], return_index=True, return_counts=True)
    usual = np.full(int(groups.max()) + 1, np.nan)
    usual[groups[in_order][first]] = values[in_order][first + counts // 2]
    return np.asarray(np.abs(values - usual[groups]) > fraction * usual[groups], dtype=bool)


def _lacks(values: Floats, is_read: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where a value is missing that more than half of the GPUs that could be read have."""
    is_missing = np.isnan(values)
    is_usual = np.sum(~is_missing & is_read) * 2 > np.sum(is_read)
    return np.asarray(is_missing & is_usual, dtype=bool)


def _series_of(series: JobSeries, keep: NDArray[np.bool_]) -> JobSeries:
    if np.all(keep):
        return series
    return replace(series, util=series.util[:, keep], mem_gb=series.mem_gb[:, keep])


def _not_said_by(missing: Iterable[str], errors: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What was missing, `name: reason`, without errors that are already reported with their node."""
    said = {text for _, text in errors}
    return (each for each in missing if each.partition(": ")[2] not in said)


def absent_nodes(record: JobRecord, nodes: Iterable[str]) -> list[str]:
    """The nodes of a run, as Slurm names them, of which none of `nodes` is a summary; with or without their domain."""
    came = set(nodes)
    if came >= set(record.nodes):
        return []
    short = set(map(short_name, came))
    return [node for node in record.nodes if short_name(node) not in short]


def _absent_nodes(record: JobRecord, metrics: RunMetrics) -> tuple[str, ...]:
    if not metrics.nodes:
        return ("GPU use: no summary arrived from any node of this job",)
    absent = absent_nodes(record, metrics.nodes)
    of_all, late = f"of {len(record.nodes)} nodes", {*metrics.nodes} & {*metrics.interim_nodes}
    return (
        *([f"GPU use: no summary from {len(absent)} {of_all}"] if absent else []),
        *([f"GPU use: no summary of the job's end from {len(late)} {of_all}; an earlier one counts"] if late else []),
    )
