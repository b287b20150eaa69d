"""The same request in other places: whether it fits, what it would cost, and whether a smaller request changes that.

A GPU elsewhere is another one: a run takes there as long as here only by chance. A cost is stated for the same run
time, and as such, unless the site measured how much longer or shorter runs are there.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.hardware import Partition, partition_of
from jobs.sbatch import Shape
from jobs.site_platforms import Platform


@dataclass(frozen=True)
class Need:
    """What a run needs: its request, its run time in seconds (None: not known) and the GPU memory of its fullest GPU
    in 2^30 bytes, as earlier runs used it (None: not measured)."""

    shape: Shape
    run_s: float | None
    gpu_memory_gb: float | None


@dataclass(frozen=True)
class Offer:
    """One place: `why_not` is "nodes", "walltime", "gpu_memory", "host_memory" or "cores", empty where it fits.

    `cost` is in the platform's unit, for `run_s` seconds there where that was measured (`is_measured`), else for the
    same run time as here.
    """

    platform: Platform
    gpus: int
    why_not: str
    cost: float | None
    run_s: float | None
    is_measured: bool


def offer(platform: Platform, need: Need, cluster: str, partition: Partition | None) -> Offer:
    """What one platform could do for a run that was requested in a partition.

    >>> cloud = Platform(name="c", kind="cloud", gpu_name="g", gpus_per_node=8, gpu_memory_gb=40,
    ...     price_per_gpu_hour=3.0, unit="EUR", is_whole_nodes=True)
    >>> offer(cloud, Need(Shape(1, 2), 7200.0, 30.0), "lumi", None).cost
    48.0
    >>> offer(cloud, Need(Shape(1, 2), 7200.0, 41.0), "lumi", None).why_not
    'gpu_memory'
    """
    gpus = need.shape.gpus
    factor = _factor(platform, cluster, partition)
    run_s = None if need.run_s is None else need.run_s * (factor or 1.0)
    why_not = _why_not(platform, need, factor)
    price = platform.price_per_gpu_hour
    is_known = price is not None and run_s is not None and not why_not
    cost = price * platform.billed_gpus(gpus) * run_s / 3600 if is_known and price and run_s else None
    return Offer(platform, gpus, why_not, cost, run_s if factor else None, factor is not None)


def _factor(platform: Platform, cluster: str, partition: Partition | None) -> float | None:
    """The measured run time factor, where it was measured on the nodes of this partition."""
    if platform.run_time_factor is None or platform.run_time_factor_from is None or partition is None:
        return None
    measured = partition_of(cluster, platform.run_time_factor_from)
    return platform.run_time_factor if measured is not None and measured.node == partition.node else None


def _why_not(platform: Platform, need: Need, factor: float | None) -> str:
    shape, nodes = need.shape, platform.nodes_for(need.shape.gpus)
    if platform.nodes_max and nodes > platform.nodes_max:
        return "nodes"
    if need.gpu_memory_gb is not None and need.gpu_memory_gb > platform.gpu_memory_gb:
        return "gpu_memory"
    if platform.host_memory_gb and (shape.memory_gb or 0.0) > nodes * platform.host_memory_gb:
        return "host_memory"
    if platform.cores_per_node and (shape.cores or 0) > nodes * platform.cores_per_node:
        return "cores"
    longest_s = need.run_s * factor if need.run_s is not None and factor else shape.walltime_s
    if platform.walltime_max_s and (longest_s or 0.0) > platform.walltime_max_s:
        return "walltime"
    return ""


def choice(costs: Iterable[tuple[str, float | None, str]], own: str) -> dict[str, str]:
    """By unit of the cost the cheapest place of (place, cost, unit), where they differ; the own one of equals.

    >>> choice([("small-g", 12.0, "EUR"), ("cloud", 9.0, "EUR"), ("other", 1.0, "GPU-hour")], "small-g")
    {'EUR': 'cloud'}
    >>> choice([("small-g", 12.0, "GPU-hour"), ("standard-g", 12.0, "GPU-hour")], "small-g")
    {}
    """
    by_unit: dict[str, dict[str, float]] = {}
    for place, cost, unit in costs:
        if cost is not None:
            by_unit.setdefault(unit, {})[place] = cost
    return {
        unit: min(known, key=lambda place: (known[place], place != own))
        for unit, known in by_unit.items()
        if len(set(known.values())) > 1
    }
