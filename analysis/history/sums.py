"""What the sums of days say about a period; uncounted runs are left out of everything but their own number."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from analysis.efficiency import EfficiencyClass
from analysis.history.periods import Period
from analysis.history.run_sums import HOURS_A_DAY, Days, RunSums, median_use
from analysis.history.trend import Trend, trend

TREND_WEEKS = 12


@dataclass(frozen=True)
class ClassShare:
    """One class among the counted runs; the fraction is 0..1 of all of them."""

    name: EfficiencyClass
    jobs: int
    gpu_hours: float
    jobs_fraction: float


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


@dataclass(frozen=True)
class Step:
    """One day or week: GPU-hours by class, unused GPU-hours, and the median use."""

    start: datetime
    jobs: int
    hours_by_class: Mapping[str, float]
    wasted_gpu_hours: float
    median_util: float | None


@dataclass(frozen=True)
class FrequentFinding:
    """How many counted runs a finding held for, those it came first in, and its runs in each step of a period.

    `wasted_gpu_hours` are of the runs it came first in, so that the hours of a run are counted once over all findings.
    """

    code: str
    jobs: int
    first_jobs: int
    wasted_gpu_hours: float
    by_step: Mapping[datetime, int]


def overview_of(days: Days, period: Period) -> Overview:
    """The counted runs of a period: the classes in their order, each with its share, and their sums."""
    total = days.total(period)
    return Overview(
        jobs=total.jobs,
        uncounted=total.uncounted_jobs,
        shares=tuple(
            ClassShare(name, row.jobs, row.gpu_hours, row.jobs / total.jobs)
            for name in EfficiencyClass
            if (row := total.classes.get(name.value))
        ),
        gpu_hours=total.gpu_hours,
        wasted_gpu_hours=total.wasted_gpu_hours,
        potential_gpu_hours=total.saved_gpu_hours,
        median_util=median_use(total.use),
    )


def steps_of(days: Days, period: Period) -> tuple[Step, ...]:
    """The period step by step, empty steps too."""
    return tuple(_step(start, sums) for start, sums in zip(period.steps(), days.by_step(period), strict=True))


def _step(start: datetime, sums: RunSums) -> Step:
    hours = {
        name.value: row.gpu_hours
        for name in EfficiencyClass
        if (row := sums.classes.get(name.value)) is not None and row.gpu_hours
    }
    return Step(start, sums.jobs, hours, sums.wasted_gpu_hours, median_use(sums.use))


def trend_of(days: Days, now: datetime) -> Trend:
    """The trend of the last weeks: `days` must reach back that far."""
    use = [sums.use for sums in days.by_step(trend_period(now))]
    return trend([median_use(week) for week in use], sum(sum(week.values()) for week in use))


def trend_period(now: datetime) -> Period:
    """The weeks of a trend."""
    return Period(now - timedelta(weeks=TREND_WEEKS), now)


def frequent_findings(days: Days, period: Period) -> list[FrequentFinding]:
    """The findings of a period, most unused GPU-hours first; a run's hours count under the first of its findings."""
    by_step: dict[str, dict[datetime, int]] = {}
    for start, sums in zip(period.steps(), days.by_step(period), strict=True):
        for code, row in sums.findings.items():
            by_step.setdefault(code, {})[start] = row.jobs
    found = [
        FrequentFinding(code, row.jobs, row.first_jobs, row.wasted_gpu_hours, by_step[code])
        for code, row in days.total(period).findings.items()
    ]
    return sorted(found, key=lambda row: (-row.wasted_gpu_hours, -row.jobs, row.code))


def use_by_weekday(days: Days, period: Period) -> dict[tuple[int, int], tuple[int, float]]:
    """(Weekday 1..7, hour 0..23) of the start by the site's clock -> (measured runs, sum of their use in percent)."""
    starts = days.total(period).starts
    return {(hour // HOURS_A_DAY + 1, hour % HOURS_A_DAY): seen for hour, seen in starts.items()}


def billed_in(days: Days, period: Period) -> float:
    """GPU-hours of all runs of a period, also those that count in no statistic."""
    total = days.total(period)
    return total.gpu_hours + total.uncounted_gpu_hours


def runs_in(days: Days, period: Period) -> int:
    """How many runs that is."""
    total = days.total(period)
    return total.jobs + total.uncounted_jobs
