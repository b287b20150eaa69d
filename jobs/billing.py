"""GPU-hours as LUMI bills them: one GPU-hour is one whole MI250X module for one hour.

Slurm's own `billing` TRES is not LUMI's bill. Source of both formulas: LUMI user guide, "Billing policy",
section GPU billing (2024-10); "64 GB" is read as GiB because the default of 65536 MiB must be one slice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jobs.hardware import Partition

CORES_PER_SLICE = 8
MEMORY_GB_PER_SLICE = 64.0
SLICES_PER_GPU_HOUR = 2


@dataclass(frozen=True)
class Allocation:
    """What a job held: physical cores and host memory (2^30 bytes) over all its nodes."""

    nodes: int
    gpus: int
    cores: int
    memory_gb: float
    is_exclusive: bool = False


def gpu_hours(partition: Partition | None, held: Allocation, elapsed_s: float) -> float | None:
    """Billed GPU-hours for holding `held` for `elapsed_s`; None where the partition's price is unknown.

    >>> from jobs.hardware import partition_of
    >>> gpu_hours(partition_of("lumi", "standard-g"), Allocation(4, 32, 224, 1920.0), 24 * 3600)
    384.0
    >>> gpu_hours(partition_of("lumi", "small-g"), Allocation(1, 1, 16, 256.0), 3600)
    2.0
    """
    if partition is None:
        return None
    hours = elapsed_s / 3600
    modules_per_node = partition.node.gpus / partition.node.gpus_per_module
    if partition.is_exclusive or held.is_exclusive:
        return modules_per_node * held.nodes * hours
    return billed_slices(held) / SLICES_PER_GPU_HOUR * hours


def billed_slices(held: Allocation) -> int:
    """How many GPUs a job on a shared partition is billed for: by cores, host memory or GPUs, whichever is most.

    >>> billed_slices(Allocation(1, 1, 16, 256.0))
    4
    """
    by_memory = math.ceil(held.memory_gb / MEMORY_GB_PER_SLICE)
    return max(math.ceil(held.cores / CORES_PER_SLICE), by_memory, held.gpus)
