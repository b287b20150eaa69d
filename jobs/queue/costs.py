"""What a job of the queue has been billed so far, and would be billed at its time limit; pure."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.billing import Allocation, gpu_hours
from jobs.hardware import Partition

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
