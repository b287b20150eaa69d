"""What a project's page shows of its GPU-hours: allocated, used, left, and how that compares with its time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from jobs.allocations import AllocatedHours, Pace, pace_of
from jobs.models import ProjectAllocation
from portal.charts.forecast import left_of

METER_WIDTH = 100.0
SOURCE_WORDS = {"lumi": "LUMI's project file", "waldur": "Puhuri", "csv": "the site's list", "demo": "the sample data"}


@dataclass(frozen=True)
class AllocationLine:
    """One allocation in words and on a meter of 0..100; None where no directory reports it."""

    row: ProjectAllocation
    used_fraction: float | None
    pace: Pace | None
    source: str
    left_gpu_hours: float | None

    @property
    def used_width(self) -> float:
        return round(min(self.used_fraction or 0.0, 1.0) * METER_WIDTH, 2)

    @property
    def time_x(self) -> float | None:
        return None if self.pace is None else round(self.pace.time_fraction * METER_WIDTH, 2)


def allocation_line(row: ProjectAllocation | None, today: date) -> AllocationLine | None:
    """The line of a stored allocation; None for a project that no directory gave any."""
    if row is None:
        return None
    hours = AllocatedHours(row.gpu_hours, row.used_gpu_hours, row.begins_on, row.ends_on)
    used, given = row.used_gpu_hours, row.gpu_hours
    used_fraction = used / given if used is not None and given > 0 else None
    return AllocationLine(
        row, used_fraction, pace_of(hours, today), SOURCE_WORDS.get(row.source, row.source), left_of(row)
    )
