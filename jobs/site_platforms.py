"""Other places where the same work could run, as a site lists them: clusters and commercial clouds with their prices.

Nothing of them is known but what the profile states. How fast their GPUs are for some work is not among it, unless the
site measured it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from jobs.site_factors import Source

Title = Annotated[str, Meta(pattern=r"\A[!-~]([ -~]{0,62}[!-~])?\Z")]
Unit = Annotated[str, Meta(pattern=r"\A([A-Z]{3}|GPU-hour)\Z")]
Count = Annotated[int, Meta(ge=1, le=10**9)]
Amount = Annotated[float, Meta(gt=0, le=10**7)]
Factor = Annotated[float, Meta(gt=0.001, lt=1000)]


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One other place; a GPU is what is counted and billed as one there, memory in 2^30 bytes.

    `price_per_gpu_hour` is in `unit`, an ISO 4217 code or "GPU-hour", as `price_source` stated it `price_on` a day.
    Whole nodes are billed where `is_whole_nodes`. `run_time_factor` is the run time there divided by that on the nodes
    of the partition `run_time_factor_from`, as `run_time_factor_source` measured it. What is None is not known.
    """

    name: Title
    kind: Literal["cluster", "cloud"]
    gpu_name: Title
    gpus_per_node: Count
    gpu_memory_gb: Amount
    cores_per_node: Count | None = None
    host_memory_gb: Amount | None = None
    nodes_max: Count | None = None
    walltime_max_s: Count | None = None
    is_whole_nodes: bool = False
    price_per_gpu_hour: Amount | None = None
    unit: Unit | None = None
    price_source: Source | None = None
    price_on: date | None = None
    run_time_factor: Factor | None = None
    run_time_factor_from: Title | None = None
    run_time_factor_source: Source | None = None

    def nodes_for(self, gpus: int) -> int:
        """The fewest nodes that have so many GPUs."""
        return math.ceil(gpus / self.gpus_per_node)

    def billed_gpus(self, gpus: int) -> int:
        """As many GPUs as are billed for this many.

        >>> Platform(
        ...     name="a", kind="cloud", gpu_name="b", gpus_per_node=8, gpu_memory_gb=80, is_whole_nodes=True
        ... ).billed_gpus(9)
        16
        """
        return self.nodes_for(gpus) * self.gpus_per_node if self.is_whole_nodes else gpus


TOGETHER = (
    ("price_per_gpu_hour", "unit", "price_source", "price_on"),
    ("run_time_factor", "run_time_factor_from", "run_time_factor_source"),
)
"""What is stated in full or not at all: no price without its source and day, no factor without who measured it."""


def problem_of(platform: Platform, partitions: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """(Field, message) of what is wrong with one platform beside the partitions of the site and the other platforms."""
    known = set(partitions)
    if platform.name in {*known, *others}:
        return "name", f"{platform.name!r} is the name of a partition, or of another platform"
    for fields in TOGETHER:
        given = [name for name in fields if getattr(platform, name) is not None]
        missing = [name for name in fields if name not in given]
        if given and missing:
            return missing[0], f"is required together with {given[0]}"
    if platform.run_time_factor_from is not None and platform.run_time_factor_from not in known:
        return "run_time_factor_from", f"no partition {platform.run_time_factor_from!r} is described here"
    return None
