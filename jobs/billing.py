"""GPU-hours as the site bills them: the allocation times the run time, at the price of its partition.

Slurm's own `billing` TRES is not LUMI's bill; a site's formula is in its profile (`jobs/sites`), with its source.
"""

import math
from dataclasses import dataclass, replace

from jobs.site_profile import Partition, Price


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


GPU_HOUR = "GPU-hour"
"""The unit of allocations; a site may bill some partitions in another one."""


@dataclass(frozen=True)
class Cost:
    """GPU-hours: `used` so far, and `at_limit` if the job runs, or all tasks of its row run, to its time limit.

    None where the partition has no price in GPU-hours; `at_limit` also without a time limit.
    """

    used: float | None = None
    at_limit: float | None = None

    @property
    def is_known(self) -> bool:
        return self.at_limit is not None


def cost_of(
    partition: Partition | None, held: Allocation, limit_s: float | None, ran_s: float | None, tasks: int = 1
) -> Cost:
    """The cost of a job, or of each of so many tasks; `ran_s` None for one that has not started.

    A job that runs past its limit, as sites may allow, costs what it ran.

    >>> from jobs.hardware import partition_of
    >>> two = Allocation(1, 2, 14, 120.0)
    >>> cost_of(partition_of("lumi", "small-g"), two, 4 * 3600.0, 3600.0)
    Cost(used=1.0, at_limit=4.0)
    >>> cost_of(partition_of("lumi", "small-g"), two, 4 * 3600.0, None, tasks=10)
    Cost(used=0.0, at_limit=40.0)
    """
    if partition is None or partition.price is None or partition.price.unit != GPU_HOUR:
        return Cost()
    used = gpu_hours(partition, held, ran_s or 0.0)
    at_limit = None if limit_s is None else gpu_hours(partition, held, max(limit_s, ran_s or 0.0))
    return Cost(used, None if at_limit is None else at_limit * tasks)
