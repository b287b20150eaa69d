"""Sums over a set of runs: classes, hours, unused hours, and what advice saved or could have saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

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


Work = tuple[int, int, str, str]
"""What makes runs the same work: user, project, cluster, work key."""


@dataclass(frozen=True)
class WorkRun:
    """One run of some work; `recommended_gpus` is the advice its report gave, None for none on GPUs.

    `pk` says which run it is, for whoever names it.
    """

    work: Work
    ended_at: datetime
    gpus: int
    gpu_hours: float
    recommended_gpus: int | None
    pk: int = 0


@dataclass(frozen=True)
class Followed:
    """Runs that requested no more GPUs than the last advice on the same work, and the GPU-hours that this saved."""

    runs: int = 0
    saved_gpu_hours: float = 0.0


@dataclass(frozen=True)
class FollowedRun:
    """One run that followed advice, and the run that got it; a more expensive run saves nothing."""

    advised: WorkRun
    run: WorkRun

    @property
    def saved_gpu_hours(self) -> float:
        return max(self.advised.gpu_hours - self.run.gpu_hours, 0.0)


def followed(runs: Sequence[WorkRun], since: datetime) -> Followed:
    """What following advice saved in the runs that ended at or after `since`; earlier ones only supply the advice."""
    kept = followed_runs(runs, since)
    return Followed(len(kept), sum(each.saved_gpu_hours for each in kept))


def followed_runs(runs: Sequence[WorkRun], since: datetime) -> list[FollowedRun]:
    """Those runs one by one, in the order in which they ended.

    A run is compared with the last run of the same work that got advice for fewer GPUs, as long as later runs follow
    the advice.
    """
    advised: dict[Work, WorkRun] = {}
    kept = []
    for run in sorted(runs, key=lambda run: run.ended_at):
        before = advised.get(run.work)
        if before and run.gpus <= (before.recommended_gpus or 0) and run.ended_at >= since:
            kept.append(FollowedRun(before, run))
        if run.recommended_gpus is not None and run.recommended_gpus < run.gpus:
            advised[run.work] = run
    return kept
