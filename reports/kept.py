"""How the cores and the host memory of a suggested request were derived: from use, or from the share of its GPUs."""

import math
from collections.abc import Iterator

import numpy as np

from analysis.facts import JobFacts
from analysis.host_share import busy_cores, cores_for, host_need
from analysis.next_request import requested_shape
from analysis.rightsizing import Recommendation
from analysis.thresholds import LIMITS
from jobs.hardware import partition_of
from wire.numbers import counted, gigabytes

ROUNDED_GB = 1.0
"""Requests are written in whole GB for each node."""


def kept(advice: Recommendation, facts: JobFacts) -> Iterator[str]:
    """Phrases for the cores and the host memory that the advice changes; none for what it does not change."""
    now, wanted = requested_shape(facts), advice.wanted
    used: list[str] = []
    shared: list[str] = []
    if wanted.cores and now.cores and wanted.cores != now.cores:
        by_use, by_share = _cores(advice, facts)
        used, shared = [*used, *by_use], [*shared, *by_share]
    if wanted.memory_gb and now.memory_gb and abs(wanted.memory_gb - now.memory_gb) >= ROUNDED_GB:
        by_use, by_share = _memory(advice, facts)
        used, shared = [*used, *by_use], [*shared, *by_share]
    yield from used
    if shared and partition_of(facts.record.cluster, wanted.partition):
        yield f"{' and '.join(shared)} come with each GPU"
    elif shared:
        yield f"{' and '.join(shared)} in proportion to the GPUs"


def _cores(advice: Recommendation, facts: JobFacts) -> tuple[list[str], list[str]]:
    """The phrases for cores, derived from their use or from the GPUs; whole cores for each task."""
    wanted, now, busy = advice.wanted, requested_shape(facts), busy_cores(facts)
    of_another = float(advice.evidence.get("own_runs_busy_cores", 0.0))
    partition = partition_of(facts.record.cluster, wanted.partition)
    share = wanted.gpus * (partition.node.cores_per_gpu if partition else (now.cores or 0) / now.gpus)
    if of_another and cores_for(of_another) > share:
        return [f"cores: {LIMITS.headroom_factor:g} x the {of_another:.1f} that were busy in one of these runs"], []
    if busy is not None and (host_need(facts).cores or 0) > share:
        return [f"cores: {LIMITS.headroom_factor:g} x the {busy:.1f} that were busy"], []
    tasks = wanted.ntasks or 1
    if wanted.cores is None or wanted.cores > math.ceil(share / tasks) * tasks:
        return [], []
    return [], [counted(partition.node.cores_per_gpu, "core") if partition else "cores"]


def _memory(advice: Recommendation, facts: JobFacts) -> tuple[list[str], list[str]]:
    """The phrases for host memory, derived from its use or from the GPUs."""
    wanted, now, need = advice.wanted, requested_shape(facts), host_need(facts)
    partition = partition_of(facts.record.cluster, wanted.partition)
    gpu_gb = partition.node.host_memory_share_gb if partition else (now.memory_gb or 0.0) / now.gpus
    wanted_gb, used_gb = wanted.memory_gb or 0.0, need.memory_gb(wanted.nodes) or 0.0
    rounding_gb = ROUNDED_GB * wanted.nodes
    if wanted_gb <= wanted.gpus * gpu_gb + rounding_gb:
        return [], [f"{gigabytes(gpu_gb)} of host memory" if partition else "host memory"]
    if not used_gb or abs(wanted_gb - used_gb) > rounding_gb:
        return [], []
    peaks_gb, times = facts.host_peaks_gb, f"host memory: {LIMITS.headroom_factor:g} x the"
    if used_gb > (need.total_gb or 0.0):
        return [f"{times} {gigabytes(float(np.max(peaks_gb)))} used on the fullest node, on each node"], []
    return [f"{times} {gigabytes(float(np.sum(peaks_gb)))} used"], []
