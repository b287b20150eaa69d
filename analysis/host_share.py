"""Cores and host memory of a shared partition against what comes with the GPUs, what was used, and what is billed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.comparable import ComparableRun, highest_host_peak_gb, most_busy_cores
from analysis.facts import JobFacts
from analysis.thresholds import LIMITS, Limits
from jobs.billing import billed_slices
from jobs.sbatch_values import MEMORY_OPTIONS


@dataclass(frozen=True)
class FittingHost:
    """The smallest change that lowers the bill; `cores` or `memory_gb` is None where it may stay as it is."""

    slices_now: float
    slices: float
    cores: int | None
    memory_gb: float | None
    busy_cores: float
    peak_memory_gb: float


@dataclass(frozen=True)
class HostNeed:
    """What the work needs of its hosts, a fifth more than it used; None where not every node was measured.

    `total_gb` is over all nodes, `fullest_node_gb` one of them. `ranks` are those that kept a good part of a core busy,
    0 where they did not or were not counted.
    """

    cores: int | None
    total_gb: float | None
    fullest_node_gb: float
    ranks: int

    def memory_gb(self, nodes: int) -> float | None:
        """What `nodes` nodes need together: all that was used, and on each as much as on the fullest."""
        return None if self.total_gb is None else max(self.total_gb, self.fullest_node_gb * nodes)


def fitting_host(facts: JobFacts, limits: Limits = LIMITS) -> FittingHost | None:
    """Fewer cores or less memory, or both, where they were billed beyond the GPUs and not used; None otherwise.

    What was not measured on every node, what the site allocated by default, and memory that ran out is not changed.
    """
    price = facts.partition.price if facts.partition else None
    if price is None or facts.is_exclusive or not facts.allocated_gpus:
        return None
    held, now = facts.held, billed_slices(facts.held, price)
    cores, memory_gb = _cores(facts, limits), _memory_gb(facts, limits)
    best: tuple[float, int | None, float | None] = (now, None, None)
    for fewer, less_gb in ((None, memory_gb), (cores, None), (cores, memory_gb)):
        changed = replace(
            held, cores=held.cores if fewer is None else fewer, memory_gb=held.memory_gb if less_gb is None else less_gb
        )
        if (slices := billed_slices(changed, price)) < best[0]:
            best = (slices, fewer, less_gb)
    if best[0] >= now:
        return None
    return FittingHost(now, *best, busy_cores(facts) or 0.0, host_peak_gb(facts) or 0.0)


def host_peak_gb(facts: JobFacts) -> float | None:
    """Host memory the job needs over all its nodes: as many times the fullest node; None unless each was measured."""
    peaks_gb = facts.host_peaks_gb
    if not peaks_gb.size or np.any(np.isnan(peaks_gb)) or peaks_gb.size < facts.held.nodes:
        return None
    return float(np.max(peaks_gb)) * facts.held.nodes


def busy_cores(facts: JobFacts) -> float | None:
    """Busy cores over all nodes of the job; None unless each was measured."""
    busy = facts.hosts.busy_cores_avg
    if not busy.size or np.any(np.isnan(busy)) or busy.size < facts.held.nodes:
        return None
    return float(np.sum(busy))


def cores_for(busy: float, limits: Limits = LIMITS) -> int:
    """Cores for work that keeps so many busy: a fifth more.

    >>> cores_for(17.4)
    21
    """
    return math.ceil(limits.headroom_factor * busy)


def host_need(facts: JobFacts, past: Sequence[ComparableRun] = (), limits: Limits = LIMITS) -> HostNeed:
    """What the work needs of its hosts, by this run and the user's own on as many GPUs."""
    peaks_gb, ranks = facts.host_peaks_gb, float(np.sum(facts.hosts.ranks))
    is_measured = host_peak_gb(facts) is not None
    fullest_gb = max(float(np.max(peaks_gb)) if is_measured else 0.0, highest_host_peak_gb(facts.allocated_gpus, past))
    busy = busy_cores(facts)
    return HostNeed(
        cores=None if busy is None else cores_for(max(busy, most_busy_cores(facts.allocated_gpus, past)), limits),
        total_gb=float(math.ceil(limits.headroom_factor * float(np.sum(peaks_gb)))) if is_measured else None,
        fullest_node_gb=float(math.ceil(limits.headroom_factor * fullest_gb)),
        ranks=round(ranks) if busy is not None and ranks > 0 and busy >= limits.busy_rank_cores * ranks else 0,
    )


def own_busy_cores(facts: JobFacts, past: Sequence[ComparableRun]) -> dict[str, float]:
    """The busy cores of another run, where the cores follow from that one."""
    most = most_busy_cores(facts.allocated_gpus, past)
    return {"own_runs_busy_cores": most} if most > (busy_cores(facts) or most) else {}


def memory_is_default(facts: JobFacts) -> bool:
    """Whether the host memory is the site's default: no option requests it, and it is not more than that."""
    record, partition = facts.record, facts.partition
    if record.request.keys() & set(MEMORY_OPTIONS):
        return False
    default_gb = partition.default_memory_gb if partition else None
    if default_gb is None:
        return bool(record.request)
    return (record.memory_requested_gb or 0.0) <= default_gb * facts.held.nodes


def _cores(facts: JobFacts, limits: Limits) -> int | None:
    """The cores that come with the GPUs, or 20 % more than were busy; None where not less than was allocated."""
    busy = busy_cores(facts)
    if busy is None or facts.partition is None or facts.record.cpus_allocated is None:
        return None
    wanted = max(facts.allocated_gpus * facts.partition.node.cores_per_gpu, cores_for(busy, limits))
    return wanted if wanted < facts.held.cores else None


def _memory_gb(facts: JobFacts, limits: Limits) -> float | None:
    """A fifth more than the peak, in whole gigabytes a node; None where that is not less than was allocated."""
    peak_gb, held = host_peak_gb(facts), facts.held
    if peak_gb is None or facts.record.memory_requested_gb is None or memory_is_default(facts):
        return None
    if facts.record.state == "OUT_OF_MEMORY" or np.any(facts.hosts.oom_kills > 0):
        return None
    wanted_gb = float(math.ceil(limits.headroom_factor * peak_gb / held.nodes) * held.nodes)
    return wanted_gb if wanted_gb < held.memory_gb else None
