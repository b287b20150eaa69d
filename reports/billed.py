"""What is billed beyond the GPUs: the cores or the host memory that make a run, or a suggested request, cost more.

Nothing is stated where the price is not known, for whole nodes, and where a bill is a sum of parts.
"""

from dataclasses import replace

from analysis.facts import JobFacts
from analysis.rightsizing import Recommendation, RecommendationKind
from jobs.billing import Allocation, billed_slices
from jobs.hardware import Partition, partition_of
from jobs.sbatch import Shape
from wire.numbers import counted, gigabytes

CORES, MEMORY = "cores", "memory"


def billed_as(advice: Recommendation, facts: JobFacts) -> str:
    """What raises the bill of the suggested request; empty where its GPUs alone decide it."""
    partition = partition_of(facts.record.cluster, advice.wanted.partition)
    if advice.kind is RecommendationKind.WALLTIME or partition is None:
        return ""
    return billed_shape(partition, advice.wanted)


def billed_shape(partition: Partition, shape: Shape) -> str:
    """The GPUs that a request is billed as for its cores or memory, with the rule; empty where its GPUs decide.

    >>> from jobs.hardware import partition_of
    >>> billed_shape(partition_of("lumi", "small-g"), Shape(nodes=1, gpus=1, cores=28, memory_gb=60.0))
    'billed as 4 GPUs because of 28 cores (8 cores count as a GPU)'
    """
    price = partition.price
    held = Allocation(shape.nodes, shape.gpus, shape.cores or 0, shape.memory_gb or 0.0, shape.is_exclusive)
    cause = beyond_gpus(partition, held) if shape.gpus else ""
    if not cause or price is None or price.gpus_per_slice is None:
        return ""
    amounts = {CORES: counted(held.cores, "core"), MEMORY: f"{gigabytes(held.memory_gb)} of host memory"}
    what = " and ".join(amount for name, amount in amounts.items() if name in cause)
    of_one = {CORES: (price.cores_per_slice, "cores"), MEMORY: (price.memory_gb_per_slice, "GB")}
    rule = " or ".join(
        f"{amount / price.gpus_per_slice:g} {unit}"
        for name, (amount, unit) in of_one.items()
        if amount and name in cause
    )
    gpus = billed_slices(held, price) * price.gpus_per_slice
    return f"billed as {gpus:g} GPUs because of {what} ({rule} count as a GPU)"


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
