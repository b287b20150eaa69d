"""What is billed beyond the GPUs: the cores or the host memory that make a run, or a suggested request, cost more.

Nothing is stated where the price is not known, for whole nodes, and where a bill is a sum of parts.
"""

from __future__ import annotations

from dataclasses import replace

from analysis.facts import JobFacts
from analysis.rightsizing import Recommendation, RecommendationKind
from jobs.billing import Allocation, billed_slices
from jobs.hardware import Partition, partition_of
from reports.numbers import counted, gigabytes

CORES, MEMORY = "cores", "memory"


def billed_as(advice: Recommendation, facts: JobFacts) -> str:
    """`billed as 4 GPUs because of 32 cores`; empty where the GPUs of the suggested request alone decide its bill."""
    wanted = advice.wanted
    partition = partition_of(facts.record.cluster, wanted.partition)
    if advice.kind is RecommendationKind.WALLTIME or partition is None or not wanted.gpus:
        return ""
    held = Allocation(wanted.nodes, wanted.gpus, wanted.cores or 0, wanted.memory_gb or 0.0, wanted.is_exclusive)
    cause = beyond_gpus(partition, held)
    if not cause or partition.price is None or partition.price.gpus_per_slice is None:
        return ""
    gpus = billed_slices(held, partition.price) * partition.price.gpus_per_slice
    amounts = {CORES: counted(held.cores, "core"), MEMORY: f"{gigabytes(held.memory_gb)} of host memory"}
    what = " and ".join(amount for name, amount in amounts.items() if name in cause)
    return f"billed as {gpus:g} GPUs because of {what}"


def beyond_gpus(partition: Partition, held: Allocation) -> str:
    """What raises the bill above that of the GPUs: `cores`, `memory` or both alike; empty where nothing does.

    >>> from jobs.hardware import partition_of
    >>> beyond_gpus(partition_of("lumi", "small-g"), Allocation(1, 1, 7, 240.0))
    'memory'
    >>> beyond_gpus(partition_of("lumi", "small-g"), Allocation(1, 2, 16, 128.0))
    ''
    """
    price = partition.price
    if price is None or price.combine != "max" or partition.is_exclusive or held.is_exclusive or not held.gpus:
        return ""
    by_gpus = billed_slices(replace(held, cores=0, memory_gb=0.0), price)
    slices = billed_slices(held, price)
    if slices <= by_gpus:
        return ""
    by_part = {CORES: replace(held, memory_gb=0.0), MEMORY: replace(held, cores=0)}
    return " and ".join(name for name, part in by_part.items() if billed_slices(part, price) == slices)
