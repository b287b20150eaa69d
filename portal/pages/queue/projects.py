"""What the queue means for each project: what its jobs hold and may use, beside what its allocation has left."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from jobs.models import Project, ProjectAllocation
from portal.charts.forecast import METER_WIDTH, AllocationLine, Forecast, allocation_line
from portal.charts.queue_lines import Line, Sums, sums_of
from reports.numbers import unbroken
from wire.numbers import hours


@dataclass(frozen=True)
class Member:
    """One member's jobs in the queue, for the PI."""

    username: str
    sums: Sums


@dataclass(frozen=True)
class ProjectQueue:
    """One project of a person with their own jobs in it, for its PI with those of all members."""

    project: Project
    leads: bool
    sums: Sums
    members: tuple[Member, ...]
    allocation: AllocationLine | None
    forecast: Forecast | None

    @property
    def left(self) -> float | None:
        return self.allocation.left_gpu_hours if self.allocation else None

    @property
    def verdict(self) -> str:
        return "" if self.left is None else verdict(self.sums, self.left, leads=self.leads)

    @property
    def is_too_much(self) -> bool:
        """Whether what runs and waits may use more than is left."""
        return self.left is not None and self.sums.at_limit > self.left

    @property
    def running_x(self) -> float:
        """Where the running jobs begin on the meter of the allocation, which is 0..100 wide."""
        return self.allocation.used_width if self.allocation else 0.0

    @property
    def running_width(self) -> float:
        return self._width(self.running_x, self.sums.running.at_limit)

    @property
    def pending_x(self) -> float:
        return round(self.running_x + self.running_width, 2)

    @property
    def pending_width(self) -> float:
        return self._width(self.pending_x, self.sums.pending.at_limit)

    def _width(self, x: float, gpu_hours: float) -> float:
        total = self.allocation.row.gpu_hours if self.allocation else 0.0
        return round(min(gpu_hours / total * METER_WIDTH, METER_WIDTH - x), 2) if total else 0.0


def project_queues(
    lines: Sequence[Line],
    projects: Mapping[int, Project],
    led: Sequence[int],
    allocations: Mapping[int, ProjectAllocation],
    forecasts: Mapping[int, Forecast | None],
    today: date,
) -> list[ProjectQueue]:
    """The projects, those with most GPU-hours in the queue first, then by name."""
    by_project: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        by_project[line.job.project_id].append(line)
    found = [
        _project_queue(
            project, by_project[pk], pk in led, allocation_line(allocations.get(pk), today), forecasts.get(pk)
        )
        for pk, project in projects.items()
    ]
    return sorted(found, key=lambda row: (-row.sums.at_limit, -row.sums.jobs, row.project.name))


def _project_queue(
    project: Project, lines: Sequence[Line], leads: bool, allocation: AllocationLine | None, forecast: Forecast | None
) -> ProjectQueue:
    if not leads:
        # Nobody else's lines are among these.
        return ProjectQueue(project, False, sums_of(lines), (), allocation, None)
    by_owner: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_owner[line.job.user.username].append(line)
    members = [Member(name, sums_of(of_owner)) for name, of_owner in by_owner.items()]
    members.sort(key=lambda member: (-member.sums.at_limit, member.username))
    return ProjectQueue(project, True, sums_of(lines), tuple(members), allocation, forecast)


def verdict(sums: Sums, left: float, *, leads: bool) -> str:
    """The sentence for own jobs, or for all of a led project; empty where they take nothing.

    >>> from portal.charts.queue_lines import Sum
    >>> both = Sums(Sum(jobs=2, at_limit=120.0), Sum(jobs=9, at_limit=400.0))
    >>> print(verdict(both, 300.0, leads=False).replace(chr(160), " "))
    Your running jobs will use up to 120.0 of the 300.0 GPU-hours left, the pending ones up to 400.0 more: together up \
to 220.0 more than are left.
    """
    running, waiting = sums.running.at_limit, sums.pending.at_limit
    whose = "the project's" if leads else "your"
    if not running and not waiting:
        return ""
    if not left:
        return unbroken(f"No GPU-hours are left, and {whose} jobs may use up to {hours(running + waiting)}.")
    if running > left:
        more = f", and the pending ones up to {hours(waiting)} more" if waiting else ""
        said = (
            f"{whose} running jobs alone may use up to {hours(running)} GPU-hours{more}; only {hours(left)} are left."
        )
    else:
        said = f"{whose} {_uses(running, waiting, left)}: {_rest(running, waiting, left)}."
    return unbroken(said[0].upper() + said[1:])


def _uses(running: float, waiting: float, left: float) -> str:
    of_left = f"of the {hours(left)} GPU-hours left"
    if not running:
        return f"pending jobs may use up to {hours(waiting)} {of_left}"
    more = f", the pending ones up to {hours(waiting)} more" if waiting else ""
    return f"running jobs will use up to {hours(running)} {of_left}{more}"


def _rest(running: float, waiting: float, left: float) -> str:
    over = running + waiting - left
    if over <= 0:
        return f"at least {hours(-over)} remain" if over else "none may remain"
    return f"{'together ' if running else ''}up to {hours(over)} more than are left"
