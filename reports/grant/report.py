"""The value of a grant report: what a project used in a period, how well, and what advice brought.

All its renderings (page, PDF, CSV, JSON) show this value. It names no person and no work unless its reader chose names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from analysis.efficiency import EfficiencyClass
from analysis.history.run_sums import RunSums, median_use
from jobs.records import SYSTEM_FAILURES
from reports.grant.claims import Claim, shown_kwh
from reports.numbers import JOULES_PER_KWH

SCHEMA = "grant-report/1"
OF_STATES = {"COMPLETED": "completed", "TIMEOUT": "time_limit", "CANCELLED": "cancelled"} | dict.fromkeys(
    SYSTEM_FAILURES, "by_the_system"
)
"""How a run in a state ended; in all others it failed."""


@dataclass(frozen=True)
class Ended:
    """The jobs that ended, by how they ended; also those that are too short to count."""

    jobs: int
    completed: int
    failed: int
    time_limit: int
    cancelled: int
    by_the_system: int


@dataclass(frozen=True)
class Use:
    """One period in numbers.

    `billed_gpu_hours` are of all its judged jobs, `gpu_hours` of the counted ones, as everything below them:
    `unused_gpu_hours` is an estimate, `measured_fraction` the part of the GPU-hours whose use was measured, and
    `mean_use_percent` is weighted by them. Uses are None where nothing was measured, `energy_kwh` where it was of no
    job; `energy_fraction` is the part of the GPU-hours whose energy is known. `ended` is None where the jobs are no
    longer stored one by one.
    """

    billed_gpu_hours: float
    gpu_hours: float
    jobs: int
    uncounted_jobs: int
    works: int
    unused_gpu_hours: float
    measured_fraction: float | None
    mean_use_percent: float | None
    median_use_percent: float | None
    potential_gpu_hours: float
    energy_kwh: float | None
    energy_fraction: float | None
    ended: Ended | None

    @property
    def unused_fraction(self) -> float | None:
        return self.unused_gpu_hours / self.gpu_hours if self.gpu_hours else None


@dataclass(frozen=True)
class ClassHours:
    """One class: its counted jobs, and their GPU-hours also as a part of all, 0..1 and None without any."""

    name: str
    jobs: int
    gpu_hours: float
    gpu_hours_fraction: float | None


@dataclass(frozen=True)
class Step:
    """One day or week: billed GPU-hours of all jobs; of the counted ones their number, and their GPU-hours by class."""

    first: date
    jobs: int
    billed_gpu_hours: float
    gpu_hours_by_class: Mapping[str, float]


@dataclass(frozen=True)
class Allocation:
    """The allocation as the directory states it, for its own days: `used_gpu_hours` was read at `read_at`."""

    gpu_hours: float
    used_gpu_hours: float | None
    begins_on: date | None
    ends_on: date | None
    source: str
    read_at: datetime

    @property
    def used_fraction(self) -> float | None:
        return self.used_gpu_hours / self.gpu_hours if self.gpu_hours and self.used_gpu_hours is not None else None


@dataclass(frozen=True)
class AdviceKind:
    """The advice of one kind that was given in the period; the hours are of runs that can be compared."""

    kind: str
    given: int
    with_a_later_run: int
    followed: int
    followed_in_part: int
    claimed_gpu_hours: float | None
    saved_gpu_hours: float | None


@dataclass(frozen=True)
class Advice:
    """What became of it: each following run is counted once over all kinds.

    `saved_gpu_hours` is of `compared_runs`, None without any; below zero where following cost more.
    """

    kinds: tuple[AdviceKind, ...]
    following_runs: int
    compared_runs: int
    saved_gpu_hours: float | None


@dataclass(frozen=True)
class OpenSaving:
    """A work whose advice no later run of the period followed; `name` is empty where the report has no names."""

    jobs: int
    gpu_hours: float
    advised_gpus: tuple[int, ...]
    name: str = ""


@dataclass(frozen=True)
class MemberUse:
    """What one member used; only in reports with names."""

    username: str
    role: str
    jobs: int
    gpu_hours: float
    unused_gpu_hours: float
    mean_use_percent: float | None


@dataclass(frozen=True)
class GrantReport:
    """`first` and `last` belong to the period. One that is not over is compared with its days so far before it.

    `scope` is "project", or "own" for the part of one member. `open_savings_of_latest` is of how many of the latest
    jobs the open savings are. `owner_reported_jobs` have no record from Slurm and are in no number.
    """

    schema: str
    project: str
    scope: str
    calendar: str
    made_at: datetime
    first: date
    last: date
    has_begun: bool
    is_over: bool
    use: Use
    before_first: date
    before_last: date
    before: Use
    classes: tuple[ClassHours, ...]
    step: str
    steps: tuple[Step, ...]
    allocation: Allocation | None
    advice: Advice
    open_savings: tuple[OpenSaving, ...]
    open_savings_of_latest: int
    claims: tuple[Claim, ...]
    owner_reported_jobs: int
    members: tuple[MemberUse, ...] = ()

    @property
    def billed_fraction_of_allocation(self) -> float | None:
        """The billed hours of the period as a part of the allocation; None where there is none."""
        allocated = self.allocation.gpu_hours if self.allocation else 0.0
        return self.use.billed_gpu_hours / allocated if allocated else None


def use_of(total: RunSums, works: int, ended: Ended | None) -> Use:
    """A period from its sums.

    >>> use_of(RunSums(uncounted_jobs=1, uncounted_gpu_hours=2.0), 0, None).billed_gpu_hours
    2.0
    """
    hours = float(total.gpu_hours)
    return Use(
        billed_gpu_hours=hours + total.uncounted_gpu_hours,
        gpu_hours=hours,
        jobs=total.jobs,
        uncounted_jobs=total.uncounted_jobs,
        works=works,
        unused_gpu_hours=float(total.wasted_gpu_hours),
        measured_fraction=_part(total.measured_gpu_hours, hours),
        mean_use_percent=total.mean_util,
        median_use_percent=median_use(total.use),
        potential_gpu_hours=float(total.saved_gpu_hours),
        energy_kwh=shown_kwh(total.energy_j / JOULES_PER_KWH) if total.energy_gpu_hours else None,
        energy_fraction=_part(total.energy_gpu_hours, hours),
        ended=ended,
    )


def _part(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole else None


def ended_of(by_state: Mapping[str, int]) -> Ended:
    """Jobs by how they ended, from their number in each of Slurm's states.

    >>> ended_of({"COMPLETED": 5, "OUT_OF_MEMORY": 2, "NODE_FAIL": 1})
    Ended(jobs=8, completed=5, failed=2, time_limit=0, cancelled=0, by_the_system=1)
    """
    found = dict.fromkeys(("completed", "failed", "time_limit", "cancelled", "by_the_system"), 0)
    for state, jobs in by_state.items():
        found[OF_STATES.get(state, "failed")] += jobs
    return Ended(sum(found.values()), **found)


def classes_of(total: RunSums) -> tuple[ClassHours, ...]:
    """The classes in their order, of the counted jobs."""
    return tuple(
        ClassHours(name.value, row.jobs, row.gpu_hours, _part(row.gpu_hours, total.gpu_hours))
        for name in EfficiencyClass
        if (row := total.classes.get(name.value))
    )
