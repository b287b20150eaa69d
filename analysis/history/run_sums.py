"""Sums over the runs that ended on one day: small enough to be stored, and exact enough to be added up for a year.

Sums of different days, people and projects add up to those of a period. The use of the runs is kept as a histogram of
whole percent, so that a median stays exact to one point whatever is added up.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

import msgspec

from analysis.history.periods import Period, midnight

FULL_PERCENT = 100
HOURS_A_DAY = 24
DAY = timedelta(days=1)


class JudgedRun(NamedTuple):
    """What sums read of one judged run; None is not known or not measured, `codes` as in `finding_codes`."""

    ended_at: datetime
    started_at: datetime | None
    efficiency_class: str
    uncounted_reason: str
    util_percent: float | None
    gpu_hours: float | None
    wasted_gpu_hours: float | None
    saved_gpu_hours: float | None
    codes: str
    energy_j: float | None = None


class ClassSums(msgspec.Struct, array_like=True):
    """The counted runs of one class."""

    jobs: int = 0
    gpu_hours: float = 0.0
    wasted_gpu_hours: float = 0.0
    saved_gpu_hours: float = 0.0


class FindingSums(msgspec.Struct, array_like=True):
    """Counted runs with a finding, those it came first in, and what these left unused."""

    jobs: int = 0
    first_jobs: int = 0
    wasted_gpu_hours: float = 0.0


class RunSums(msgspec.Struct, array_like=True):
    """Sums over some runs; unknown hours add nothing.

    `uncounted_*` are runs that no statistic counts; everything else is of the counted ones. `use` is whole percent of
    mean use -> runs. `measured_gpu_hours` are of the runs with a known use, `used_gpu_hours` the same times their use.
    `starts` is the local hour of the start, counted from Monday 00:00 -> (measured runs, sum of their use in percent).
    `energy_gpu_hours` are of the runs whose GPUs' energy is known, `energy_j`.
    """

    classes: dict[str, ClassSums] = {}
    uncounted_jobs: int = 0
    uncounted_gpu_hours: float = 0.0
    use: dict[int, int] = {}
    measured_gpu_hours: float = 0.0
    used_gpu_hours: float = 0.0
    findings: dict[str, FindingSums] = {}
    starts: dict[int, tuple[int, float]] = {}
    energy_j: float = 0.0
    energy_gpu_hours: float = 0.0

    @property
    def jobs(self) -> int:
        """The counted runs."""
        return sum(row.jobs for row in self.classes.values())

    @property
    def gpu_hours(self) -> float:
        """Billed by the counted runs."""
        return sum(row.gpu_hours for row in self.classes.values())

    @property
    def wasted_gpu_hours(self) -> float:
        return sum(row.wasted_gpu_hours for row in self.classes.values())

    @property
    def saved_gpu_hours(self) -> float:
        """What the advice on the counted runs would have saved."""
        return sum(row.saved_gpu_hours for row in self.classes.values())

    @property
    def mean_util(self) -> float | None:
        """Use in percent weighted by GPU-hours; None where nothing was measured or nothing is billed."""
        return self.used_gpu_hours / self.measured_gpu_hours * FULL_PERCENT if self.measured_gpu_hours else None


@dataclass(frozen=True)
class Days:
    """Sums by the local day of the site on which the runs ended; a day without runs may be missing.

    A page asks several times about the same period: its sums are made once.
    """

    by_day: Mapping[date, RunSums]
    _by_step: dict[Period, tuple[RunSums, ...]] = field(default_factory=dict, compare=False, repr=False)

    def by_step(self, period: Period) -> tuple[RunSums, ...]:
        """The sums of each step of a period."""
        if period not in self._by_step:
            firsts = [start.date() for start in period.steps()]
            steps: list[list[RunSums]] = [[] for _ in firsts]
            first, last = first_and_last(period)
            for day, sums in self.by_day.items():
                if first <= day <= last:
                    steps[bisect_right(firsts, day) - 1].append(sums)
            self._by_step[period] = tuple(map(total_of, steps))
        return self._by_step[period]

    def total(self, period: Period) -> RunSums:
        """The whole period as one."""
        return total_of(self.by_step(period))


def sums_by_day(runs: Iterable[JudgedRun], zone: tzinfo) -> dict[date, RunSums]:
    """The runs added up by the day in `zone` on which they ended."""
    days: dict[date, RunSums] = {}
    for run in runs:
        add_run(days.setdefault(run.ended_at.astimezone(zone).date(), RunSums()), run, zone)
    return days


def add_run(sums: RunSums, run: JudgedRun, zone: tzinfo) -> None:
    """Add one run to the sums; its start counts by the clock of `zone`."""
    if run.uncounted_reason:
        sums.uncounted_jobs += 1
        sums.uncounted_gpu_hours += run.gpu_hours or 0.0
        return
    row = sums.classes.setdefault(run.efficiency_class, ClassSums())
    row.jobs += 1
    row.gpu_hours += run.gpu_hours or 0.0
    row.wasted_gpu_hours += run.wasted_gpu_hours or 0.0
    row.saved_gpu_hours += run.saved_gpu_hours or 0.0
    for place, code in enumerate(run.codes.split()):
        found = sums.findings.setdefault(code, FindingSums())
        found.jobs += 1
        if place == 0:
            found.first_jobs += 1
            found.wasted_gpu_hours += run.wasted_gpu_hours or 0.0
    if run.energy_j is not None:
        sums.energy_j += run.energy_j
        sums.energy_gpu_hours += run.gpu_hours or 0.0
    if run.util_percent is not None:
        _add_use(sums, run.util_percent, run.gpu_hours or 0.0, run.started_at and run.started_at.astimezone(zone))


def _add_use(sums: RunSums, util_percent: float, gpu_hours: float, started_at: datetime | None) -> None:
    percent = min(max(round(util_percent), 0), FULL_PERCENT)
    sums.use[percent] = sums.use.get(percent, 0) + 1
    sums.measured_gpu_hours += gpu_hours
    sums.used_gpu_hours += gpu_hours * util_percent / FULL_PERCENT
    if started_at is not None:
        hour = started_at.weekday() * HOURS_A_DAY + started_at.hour
        jobs, used = sums.starts.get(hour, (0, 0.0))
        sums.starts[hour] = jobs + 1, used + util_percent


def add_sums(total: RunSums, more: RunSums) -> None:
    """Add `more` to `total`, which changes."""
    total.uncounted_jobs += more.uncounted_jobs
    total.uncounted_gpu_hours += more.uncounted_gpu_hours
    total.measured_gpu_hours += more.measured_gpu_hours
    total.used_gpu_hours += more.used_gpu_hours
    total.energy_j += more.energy_j
    total.energy_gpu_hours += more.energy_gpu_hours
    for name, row in more.classes.items():
        own = total.classes.setdefault(name, ClassSums())
        own.jobs += row.jobs
        own.gpu_hours += row.gpu_hours
        own.wasted_gpu_hours += row.wasted_gpu_hours
        own.saved_gpu_hours += row.saved_gpu_hours
    for code, found in more.findings.items():
        seen = total.findings.setdefault(code, FindingSums())
        seen.jobs += found.jobs
        seen.first_jobs += found.first_jobs
        seen.wasted_gpu_hours += found.wasted_gpu_hours
    for percent, jobs in more.use.items():
        total.use[percent] = total.use.get(percent, 0) + jobs
    for hour, (jobs, used) in more.starts.items():
        before, used_before = total.starts.get(hour, (0, 0.0))
        total.starts[hour] = before + jobs, used_before + used


def total_of(parts: Iterable[RunSums]) -> RunSums:
    """All parts added up.

    >>> total_of([RunSums(uncounted_jobs=1), RunSums(uncounted_jobs=2)]).uncounted_jobs
    3
    """
    total = RunSums()
    for part in parts:
        add_sums(total, part)
    return total


def first_and_last(period: Period) -> tuple[date, date]:
    """The first and the last day of a period, which need not begin or end at midnight.

    >>> from datetime import UTC
    >>> first_and_last(Period(datetime(2026, 11, 19, 15, tzinfo=UTC), datetime(2026, 11, 21, tzinfo=UTC)))
    (datetime.date(2026, 11, 19), datetime.date(2026, 11, 20))
    """
    last = period.end.date()
    return period.start.date(), last - DAY if period.end == midnight(period.end) else last


def median_use(use: Mapping[int, int]) -> float | None:
    """The median of a histogram of whole percent: of an even number the mean of the middle two; None for nothing.

    >>> median_use({10: 1, 30: 2, 90: 1}), median_use({10: 1, 30: 1}), median_use({})
    (30.0, 20.0, None)
    """
    count = sum(use.values())
    if not count:
        return None
    ordered = sorted(use.items())
    return (_nth(ordered, (count - 1) // 2) + _nth(ordered, count // 2)) / 2


def _nth(ordered: Iterable[tuple[int, int]], place: int) -> int:
    for percent, jobs in ordered:
        place -= jobs
        if place < 0:
            return percent
    raise IndexError("there are not so many runs")
