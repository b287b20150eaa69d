"""Sums over a set of runs: classes, hours, unused hours, and what advice could have saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.efficiency import EfficiencyClass


@dataclass(frozen=True)
class ClassShare:
    """One class among the counted runs; the fraction is 0..1 of all of them."""

    name: EfficiencyClass
    jobs: int
    gpu_hours: float
    jobs_fraction: float


@dataclass(frozen=True)
class Sums:
    """The sums of one class."""

    name: str
    jobs: int
    gpu_hours: float
    wasted_gpu_hours: float
    potential_gpu_hours: float


@dataclass(frozen=True)
class Overview:
    """Counted runs of a period; `uncounted` were too short or ended by the system.

    `potential_gpu_hours` is what the advice on each run would have saved, `median_util` None where nothing was
    measured.
    """

    jobs: int
    uncounted: int
    shares: tuple[ClassShare, ...]
    gpu_hours: float
    wasted_gpu_hours: float
    potential_gpu_hours: float
    median_util: float | None

    @property
    def wasted_fraction(self) -> float | None:
        """The unused part of the GPU-hours, 0..1."""
        return self.wasted_gpu_hours / self.gpu_hours if self.gpu_hours else None


def overview(sums: Iterable[Sums], uncounted: int, median_util: float | None) -> Overview:
    """The classes in their order, each with its share, and their sums."""
    by_name = {row.name: row for row in sums}
    jobs = sum(row.jobs for row in by_name.values())
    gpu_hours = sum(row.gpu_hours for row in by_name.values())
    return Overview(
        jobs=jobs,
        uncounted=uncounted,
        shares=tuple(
            ClassShare(EfficiencyClass(name), row.jobs, row.gpu_hours, row.jobs / jobs)
            for name in EfficiencyClass
            if (row := by_name.get(name.value))
        ),
        gpu_hours=gpu_hours,
        wasted_gpu_hours=sum(row.wasted_gpu_hours for row in by_name.values()),
        potential_gpu_hours=sum(row.potential_gpu_hours for row in by_name.values()),
        median_util=median_util,
    )
