"""Sums over columns of runs; uncounted runs are left out of everything but their own number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import numpy as np
from numpy.typing import NDArray

from analysis.efficiency import EfficiencyClass
from analysis.history.columns import Floats, Places, RunColumns
from analysis.history.overview import Overview, Sums, overview
from analysis.history.periods import Period
from analysis.history.trend import Trend, trend

TREND_WEEKS = 12
HALF_HOUR_S, HOUR_S, DAY_S = 1800, 3600, 86_400


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


@dataclass(frozen=True)
class UserSums:
    """The counted runs of one person; `mean_util` is weighted by GPU-hours."""

    jobs: int = 0
    gpu_hours: float = 0.0
    wasted_gpu_hours: float = 0.0
    mean_util: float | None = None


def overview_of(runs: RunColumns, period: Period) -> Overview:
    """Classes, hours, waste, potential and the median use of a period."""
    ended = runs.between(period.start, period.end)
    counted = ended.counted()
    sums = []
    for name in EfficiencyClass:
        own = counted.only(_of_class(counted, name))
        if len(own):
            hours = [_total(own.gpu_hours), _total(own.wasted_gpu_hours), _total(own.saved_gpu_hours)]
            sums.append(Sums(name.value, len(own), *hours))
    medians = _medians(counted.util, np.zeros(len(counted), dtype=np.int64))
    return overview(sums, len(ended) - len(counted), medians.get(0))


def steps_of(runs: RunColumns, period: Period) -> tuple[Step, ...]:
    """The period step by step, empty steps too."""
    counted = runs.between(period.start, period.end).counted()
    starts = period.steps()
    place = _step_places(counted, starts)
    jobs = np.bincount(place, minlength=len(starts))
    wasted = _sums(counted.wasted_gpu_hours, place, len(starts))
    hours = {}
    for name in EfficiencyClass:
        own = _of_class(counted, name)
        if own.any():
            hours[name.value] = _sums(counted.gpu_hours[own], place[own], len(starts))
    medians = _medians(counted.util, place)
    return tuple(
        Step(
            start,
            int(jobs[at]),
            {name: float(used[at]) for name, used in hours.items() if used[at]},
            float(wasted[at]),
            medians.get(at),
        )
        for at, start in enumerate(starts)
    )


def trend_of(runs: RunColumns, now: datetime) -> Trend:
    """The trend of the last weeks: `runs` must reach back that far."""
    period = trend_period(now)
    counted = runs.between(period.start, period.end).counted()
    starts = period.steps()
    medians = _medians(counted.util, _step_places(counted, starts))
    measured = int(np.sum(~np.isnan(counted.util)))
    return trend([medians.get(at) for at in range(len(starts))], measured)


def trend_period(now: datetime) -> Period:
    """The weeks of a trend."""
    return Period(now - timedelta(weeks=TREND_WEEKS), now)


def frequent_findings(runs: RunColumns, period: Period) -> list[FrequentFinding]:
    """The findings of a period, most unused GPU-hours first; a run's hours count under the first of its findings."""
    counted = runs.between(period.start, period.end).counted()
    starts = period.steps()
    place = _step_places(counted, starts)
    found = []
    for code in sorted({code for kind in counted.kinds for code in kind.codes}):
        own = counted.of_kinds([code in kind.codes for kind in counted.kinds])
        by_step = np.bincount(place[own], minlength=len(starts))
        if jobs := int(by_step.sum()):
            steps = {starts[at]: int(by_step[at]) for at in np.flatnonzero(by_step)}
            first = counted.of_kinds([kind.codes[:1] == (code,) for kind in counted.kinds])
            wasted = _total(counted.wasted_gpu_hours[first])
            found.append(FrequentFinding(code, jobs, int(first.sum()), wasted, steps))
    return sorted(found, key=lambda row: (-row.wasted_gpu_hours, -row.jobs, row.code))


def use_by_weekday(runs: RunColumns, period: Period) -> dict[tuple[int, int], tuple[int, float]]:
    """(weekday 1..7, hour 0..23) of the start -> (measured runs, sum of their mean use in percent)."""
    counted = runs.between(period.start, period.end).counted()
    measured = counted.only(~np.isnan(counted.util) & ~np.isnan(counted.started_s))
    local_s = measured.started_s + _offsets_s(measured.started_s, period.start.tzinfo)
    # The first of January 1970 was a Thursday.
    weekday = (local_s // DAY_S + 3).astype(np.int64) % 7
    cell = weekday * 24 + (local_s % DAY_S // HOUR_S).astype(np.int64)
    jobs, used = np.bincount(cell, minlength=7 * 24), _sums(measured.util, cell, 7 * 24)
    return {(int(at) // 24 + 1, int(at) % 24): (int(jobs[at]), float(used[at])) for at in np.flatnonzero(jobs)}


def sums_by_user(runs: RunColumns, period: Period) -> dict[int, UserSums]:
    """The counted runs of a period by the key of their owner."""
    counted = runs.between(period.start, period.end).counted()
    users, place = np.unique(counted.user, return_inverse=True)
    size = len(users)
    jobs = np.bincount(place, minlength=size)
    hours, wasted = _sums(counted.gpu_hours, place, size), _sums(counted.wasted_gpu_hours, place, size)
    weight = np.where(np.isnan(counted.util), np.nan, counted.gpu_hours)
    weights, weighted = _sums(weight, place, size), _sums(counted.util * weight, place, size)
    return {
        int(user): UserSums(
            int(jobs[at]),
            float(hours[at]),
            float(wasted[at]),
            float(weighted[at] / weights[at]) if weights[at] else None,
        )
        for at, user in enumerate(users)
    }


def _of_class(runs: RunColumns, name: EfficiencyClass) -> NDArray[np.bool_]:
    return runs.of_kinds([kind.efficiency_class == name.value for kind in runs.kinds])


def _step_places(runs: RunColumns, starts: Sequence[datetime]) -> Places:
    """The step in which each run ended."""
    bounds = np.array([start.timestamp() for start in starts])
    return np.searchsorted(bounds, runs.ended_s, side="right") - 1


def _total(values: Floats) -> float:
    return float(np.nansum(values))


def _sums(values: Floats, place: Places, size: int) -> Floats:
    """The sum of the known values at each place."""
    return np.asarray(np.bincount(place, weights=np.nan_to_num(values), minlength=size), dtype=np.float64)


def _medians(values: Floats, place: Places) -> dict[int, float]:
    """The median of the known values at each place that has any: of an even number the mean of the middle two."""
    known = ~np.isnan(values)
    values, place = values[known], place[known]
    order = np.lexsort((values, place))
    seen, first, count = np.unique(place[order], return_index=True, return_counts=True)
    ordered = values[order]
    middle = (ordered[first + (count - 1) // 2] + ordered[first + count // 2]) / 2
    return {int(at): float(value) for at, value in zip(seen, middle, strict=True)}


def _offsets_s(times_s: Floats, zone: tzinfo | None) -> Floats:
    """How far the local clock was ahead of UTC: it changes at full or half hours only."""
    slots, place = np.unique(times_s // HALF_HOUR_S, return_inverse=True)
    offsets = [datetime.fromtimestamp(slot * HALF_HOUR_S, zone).utcoffset() for slot in slots.tolist()]
    return np.array([offset.total_seconds() if offset else 0.0 for offset in offsets])[place]
