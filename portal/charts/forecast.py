"""An allocation: what is left of it beside its time, and when it runs out at the recent rate of use."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from analysis.history.periods import Period, last_days
from analysis.history.run_sums import Days
from analysis.history.sums import billed_in, runs_in
from jobs.allocations import AllocatedHours, Pace, pace_of
from jobs.models import ProjectAllocation
from reports.grant.wording import SOURCES

RATE_DAYS, RATE_DAYS_MIN = 30, 7
FAR_DAYS = 3650
"""A date further away is not worth stating."""

METER_WIDTH = 100.0


@dataclass(frozen=True)
class Forecast:
    """Billed GPU-hours a day of the `jobs` that ended in the last `days`, and where they lead.

    `runs_out_on` is None where nothing is used, or only after years. `left_at_end` is what would be left on the last
    day of the allocation; None where that is not known.
    """

    gpu_hours_a_day: float
    days: int
    jobs: int
    runs_out_on: date | None
    left_at_end: float | None

    @property
    def is_used_up(self) -> bool:
        """Whether it runs out within its time."""
        return self.runs_out_on is not None and not self.left_at_end


def left_of(row: ProjectAllocation) -> float | None:
    """The GPU-hours that were left when the directory was read; None where nobody counts the use."""
    return None if row.used_gpu_hours is None else max(row.gpu_hours - row.used_gpu_hours, 0.0)


def forecast_of(row: ProjectAllocation, runs: Days, now: datetime) -> Forecast | None:
    """Where the recent rate of use leads: of all runs that Kaiku saw, also those that count in no statistic.

    None where the use is not counted, nothing is left, the time is over, or has begun less than a week ago.
    """
    left, today = left_of(row), now.date()
    begun_days = (today - row.begins_on).days if row.begins_on else RATE_DAYS
    if not left or begun_days < RATE_DAYS_MIN or (row.ends_on and row.ends_on < today):
        return None
    days = min(RATE_DAYS, begun_days)
    recent = last_days(now, days)
    rate = billed_in(runs, recent) / days
    read_on = row.read_at.astimezone(now.tzinfo).date()
    lasts_days = left / rate if rate else None
    runs_out_on = read_on + timedelta(days=lasts_days) if lasts_days and lasts_days < FAR_DAYS else None
    left_at_end = max(left - rate * (row.ends_on - read_on).days, 0.0) if row.ends_on else None
    return Forecast(rate, days, runs_in(runs, recent), runs_out_on, left_at_end)


def burn_down(row: ProjectAllocation, runs: Days, since: datetime) -> list[tuple[datetime, float]]:
    """(Instant, GPU-hours left) week by week until the directory was read, counted back from what was left then.

    `runs` reach back to `since`. Earlier than the allocation began nothing is known; empty where nobody counts the use.
    """
    if row.used_gpu_hours is None:
        return []
    left = row.gpu_hours - row.used_gpu_hours
    read_at = row.read_at.astimezone(since.tzinfo)
    starts = [at for at in Period(since, read_at).steps() if at >= since]
    if row.begins_on:
        starts = [at for at in starts if at.date() >= row.begins_on]
    return [
        (at, min(max(left + billed_in(runs, Period(at, read_at)), 0.0), row.gpu_hours)) for at in (*starts, read_at)
    ]


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
    return AllocationLine(row, used_fraction, pace_of(hours, today), SOURCES.get(row.source, row.source), left_of(row))
