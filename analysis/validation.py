"""What of the measurements can be trusted: impossible values are dropped and named, never repaired.

The ingest refuses what contradicts itself (`metrics.payloads`); here measurements meet Slurm's record and the hardware.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from jobs.hardware import Partition, partition_of
from jobs.hostlist import short_name
from jobs.records import JobRecord
from metrics.series import Floats, GpuColumns, HostColumns, RunMetrics

# A peak is read at another instant than the capacity, in another unit: as `metrics.payloads` allows.
CAPACITY_SLACK_FRACTION = 0.005
# Modules exceed their cap for moments; twice the cap is a broken reading.
POWER_OVER_CAP_MAX = 2.0
# The hooks of a job run a little before and after what Slurm counts (slurm.conf(5), Prolog and Epilog).
HOOKS_S = 60.0
CLOCK_SLACK_FRACTION = 0.05
NODES_NAMED_MAX = 6
MODULES_MAX = 1024
"""Above any module or GPU number on a node: `metrics.payloads` refuses higher ones."""


@dataclass(frozen=True)
class Trusted:
    """The measurements that may be judged, and a sentence for each thing that was dropped."""

    metrics: RunMetrics
    reasons: tuple[str, ...]


def trusted(record: JobRecord, metrics: RunMetrics, elapsed_s: float) -> Trusted:
    """Only what this job's nodes measured, without impossible values."""
    partition = partition_of(record.cluster, record.partition)
    kept, reasons = _own_nodes(record, metrics)
    for drop in (_impossible_memory, _impossible_power, _shared_modules):
        kept, reason = drop(kept, partition)
        reasons += [reason] if reason else []
    reasons += _odd_counts(record, kept, elapsed_s)
    return Trusted(kept, tuple(reasons))


def module_groups(gpus: GpuColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The module each GPU `(G,)` belongs to, and how many GPUs each module `(M,)` shows.

    A GPU without a known module counts as its own module.
    """
    is_told = ~np.isnan(gpus.module_id)
    inside = np.where(is_told, gpus.module_id, MODULES_MAX + gpus.gpu_id).astype(np.int64)
    _, module, counts = np.unique(gpus.node_index * 2 * MODULES_MAX + inside, return_inverse=True, return_counts=True)
    return module, counts


def _own_nodes(record: JobRecord, metrics: RunMetrics) -> tuple[RunMetrics, list[str]]:
    """Leaves out nodes that Slurm did not give to the job, and a second summary of one node under a longer name."""
    own = {short_name(node) for node in record.nodes}
    seen: set[str] = set()
    strangers, twins = [], []
    keep = np.ones(len(metrics.nodes), dtype=bool)
    for index, name in enumerate(map(short_name, metrics.nodes)):
        if own and name not in own:
            strangers.append(metrics.nodes[index])
        elif name in seen:
            twins.append(metrics.nodes[index])
        else:
            seen.add(name)
            continue
        keep[index] = False
    reasons = [f"{_named(strangers)}: not part of this job, left out"] if strangers else []
    reasons += [f"{_named(twins)}: already counted under another name, left out"] if twins else []
    return (metrics if np.all(keep) else _only_nodes(metrics, keep)), reasons


def _named(nodes: list[str]) -> str:
    unnamed = len(nodes) - NODES_NAMED_MAX
    return ", ".join(nodes[:NODES_NAMED_MAX]) + (f" and {unnamed:,} more nodes" if unnamed > 0 else "")


def _only_nodes(metrics: RunMetrics, keep: NDArray[np.bool_]) -> RunMetrics:
    keep_gpu = keep[metrics.gpus.node_index]
    gpus = metrics.gpus.only(keep_gpu)
    new_index = np.cumsum(keep) - 1
    series = metrics.series
    return replace(
        metrics,
        nodes=tuple(node for node, is_kept in zip(metrics.nodes, keep, strict=True) if is_kept),
        gpus=replace(gpus, node_index=new_index[gpus.node_index]),
        hosts=HostColumns(**{column.name: getattr(metrics.hosts, column.name)[keep] for column in fields(HostColumns)}),
        series=replace(series, util=series.util[:, keep_gpu], mem_gb=series.mem_gb[:, keep_gpu]),
    )


def _impossible_memory(metrics: RunMetrics, partition: Partition | None) -> tuple[RunMetrics, str]:
    """A peak above the capacity, as measured or by the hardware; a capacity of zero."""
    gpus = metrics.gpus
    total_gb = np.where(gpus.mem_total_gb > 0, gpus.mem_total_gb, np.nan)
    known_gb = partition.node.gpu_memory_gb if partition else np.nan
    highest_gb = np.where(np.isnan(total_gb), known_gb, total_gb) * (1 + CAPACITY_SLACK_FRACTION)
    is_false = gpus.peak_mem_gb > highest_gb
    count = int(np.sum(is_false)) + int(np.sum(gpus.mem_total_gb <= 0))
    if not count:
        return metrics, ""
    changed = replace(gpus, mem_total_gb=total_gb, peak_mem_gb=np.where(is_false, np.nan, gpus.peak_mem_gb))
    return replace(metrics, gpus=changed), f"GPU memory: {_gpus(count)} reported an impossible peak or capacity"


def _impossible_power(metrics: RunMetrics, partition: Partition | None) -> tuple[RunMetrics, str]:
    """Zero power or cap means a die that does not report it; far above the cap is a broken reading."""
    gpus = metrics.gpus
    cap_w = np.where(gpus.power_cap_w > 0, gpus.power_cap_w, np.nan)
    known_w = partition.node.module_power_cap_w if partition else np.nan
    highest_w = np.where(np.isnan(cap_w), known_w, cap_w) * POWER_OVER_CAP_MAX
    is_false = gpus.power_avg_w > highest_w
    is_silent = gpus.power_avg_w <= 0
    changed = replace(
        gpus,
        power_cap_w=cap_w,
        power_avg_w=np.where(is_false | is_silent, np.nan, gpus.power_avg_w),
        energy_j=np.where(is_false | (gpus.energy_j <= 0), np.nan, gpus.energy_j),
    )
    count = int(np.sum(is_false))
    return replace(metrics, gpus=changed), f"power: {_gpus(count)} reported more than is possible" if count else ""


def _shared_modules(metrics: RunMetrics, partition: Partition | None) -> tuple[RunMetrics, str]:
    """Power and energy of a module belong to a job only if it was allocated every GPU of it."""
    gpus = metrics.gpus
    is_told = ~np.isnan(gpus.power_avg_w) | ~np.isnan(gpus.energy_j)
    if partition is None or not np.any(is_told):
        return metrics, ""
    module, counts = module_groups(gpus)
    is_shared = is_told & (counts[module] < partition.node.gpus_per_module)
    if not np.any(is_shared):
        return metrics, ""
    reason = f"power: shared module ({_gpus(int(np.sum(is_shared)))}), so power and energy are not this job's alone"
    mine = replace(
        gpus,
        power_avg_w=_without(gpus.power_avg_w, is_shared),
        power_peak_w=_without(gpus.power_peak_w, is_shared),
        energy_j=_without(gpus.energy_j, is_shared),
    )
    return replace(metrics, gpus=mine), reason


def _odd_counts(record: JobRecord, metrics: RunMetrics, elapsed_s: float) -> list[str]:
    """Problems that cannot be fixed by leaving data out, and are only reported."""
    gpus, allocated = metrics.gpus, record.gpus_allocated or record.gpus_requested or 0
    said = []
    if 0 < allocated < gpus.count:
        said.append(f"GPU use: {gpus.count:,} GPUs were measured where Slurm allocated {allocated:,}")
    if gpus.count and elapsed_s <= 0:
        said.append("run time: Slurm recorded none, so how much of it was measured is not known")
    is_longer = gpus.measured_s > elapsed_s * (1 + CLOCK_SLACK_FRACTION) + HOOKS_S
    if elapsed_s > 0 and np.any(is_longer):
        said.append(f"time: {_gpus(int(np.sum(is_longer)))} measured for longer than the job ran (a clock step?)")
    return said


def _without(values: Floats, drop: NDArray[np.bool_]) -> Floats:
    return np.where(drop, np.nan, values)


def _gpus(count: int) -> str:
    return "1 GPU" if count == 1 else f"{count:,} GPUs"
