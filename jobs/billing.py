"""GPU-hours as the site bills them: the allocation times the run time, at the price of its partition.

Slurm's own `billing` TRES is not LUMI's bill; a site's formula is in its profile (`jobs/sites`), with its source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jobs.hardware import Partition, Price


@dataclass(frozen=True)
class Allocation:
    """What a job was allocated: physical cores and host memory (2^30 bytes) over all its nodes."""

    nodes: int
    gpus: int
    cores: int
    memory_gb: float
    is_exclusive: bool = False


def gpu_hours(partition: Partition | None, held: Allocation, elapsed_s: float) -> float | None:
    """Billed hours, in the price's unit, for holding `held` for `elapsed_s`; None where the price is unknown.

    >>> from jobs.hardware import partition_of
    >>> gpu_hours(partition_of("lumi", "standard-g"), Allocation(4, 32, 224, 1920.0), 24 * 3600)
    384.0
    >>> gpu_hours(partition_of("lumi", "small-g"), Allocation(1, 1, 16, 256.0), 3600)
    2.0
    """
    if partition is None or partition.price is None:
        return None
    price, hours = partition.price, elapsed_s / 3600
    if partition.is_exclusive or held.is_exclusive:
        if price.per_node_hour is not None:
            return price.per_node_hour * held.nodes * hours
        held = whole_nodes(partition, held)
    return price.per_slice_hour * billed_slices(held, price) * hours


def billed_slices(held: Allocation, price: Price) -> float:
    """How many slices a job on a shared partition is billed for: by GPUs, cores and host memory, most of them or sum.

    >>> from jobs.hardware import partition_of
    >>> billed_slices(Allocation(1, 1, 16, 256.0), partition_of("lumi", "small-g").price)
    4
    """
    amounts = (
        (held.gpus, price.gpus_per_slice),
        (held.cores, price.cores_per_slice),
        (held.memory_gb, price.memory_gb_per_slice),
    )
    slices = [amount / per_slice for amount, per_slice in amounts if per_slice is not None]
    if price.whole_slices:
        slices = [math.ceil(part) for part in slices]
    return max(slices) if price.combine == "max" else sum(slices)


def whole_nodes(partition: Partition, held: Allocation) -> Allocation:
    """Everything that the nodes of an allocation have, used or not: no other job can be allocated any of it."""
    node, nodes = partition.node, held.nodes
    return replace(held, gpus=nodes * node.gpus, cores=nodes * node.cores, memory_gb=nodes * node.host_memory_gb)
