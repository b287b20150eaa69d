"""What the queue means for each project: what its jobs hold and may use, beside what its allocation has left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from jobs.models import Project, ProjectAllocation
from portal.charts.allocation_line import METER_WIDTH, AllocationLine, allocation_line
from portal.charts.forecast import Forecast
from portal.charts.queue_lines import Line, Sums, sums_of
from portal.pages.queue.verdict import verdict


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
