"""What scripts logged within one job, on the job's own clock: when it got on, and how busy the GPUs were; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.progress.names import Unit, counted_unit, is_by_timer, seen_unit
from jobs.experiments.points import Floats, Points, Series, in_order

EARLY_S = 60.0
"""A clock may be off by so much without a word."""

FLAT_POINTS_MIN = 3
"""So many points of a named counter with the same value show that it stands still, whatever else is logged."""


@dataclass(frozen=True)
class LoggedRun:
    """One run that a script logged in the job: its parameters as text, and its metrics by name, in Unix ms."""

    params: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)


@dataclass(frozen=True)
class JobClock:
    """When the job began, in Unix ms, and how long it ran."""

    start_ms: int
    elapsed_s: float

    def seconds(self, points: Points) -> Floats:
        """Seconds since the job's start of each point `(P,)`."""
        return np.asarray((points.times_ms - self.start_ms) / 1000, dtype=np.float64)


@dataclass(frozen=True)
class BusyTime:
    """Mean use of the GPUs in percent in equal parts of the job `(T,)`; NaN where it was not measured."""

    step_s: float
    use: Floats

    def between(self, start_s: float, end_s: float) -> Floats:
        """The measured parts whose middle lies between these seconds."""
        middles_s = (np.arange(self.use.size) + 0.5) * self.step_s
        part = self.use[(middles_s >= start_s) & (middles_s < end_s)]
        return part[~np.isnan(part)]


def within_job(run: LoggedRun, clock: JobClock) -> dict[str, Series]:
    """The metrics with points during the job, with these alone, in the order of their times."""
    found: dict[str, Series] = {}
    for name, one in run.series.items():
        points = in_order(one.points)
        seconds = clock.seconds(points)
        kept = points.taken((seconds >= 0) & (seconds <= clock.elapsed_s))
        if len(kept):
            found[name] = Series(kept, one.digest)
    return found


def progress_s(run: LoggedRun, clock: JobClock) -> Floats:
    """When a run got on, in seconds since the job's start, in order: points of metrics that no timer logs.

    Only points whose step differs from the one before count; without steps, all of them. A counter by name that stands
    still is believed before the points of others. A clock that is behind is moved to the job's start.
    """
    found = [np.zeros(0)]
    until_s = np.inf
    for name, one in run.series.items():
        if is_by_timer(name) or not len(one.points):
            continue
        points = in_order(one.points)
        seconds, moved = clock.seconds(points), _moved(name, points)
        found.append(seconds[moved])
        if counted_unit(name) is Unit.STEPS:
            last = int(np.flatnonzero(moved)[-1])
            if 0 < last <= len(points) - FLAT_POINTS_MIN:
                until_s = min(until_s, float(seconds[last]))
    times_s = np.unique(np.concatenate(found))
    return _on_the_clock(times_s[times_s <= until_s], clock)


def _moved(name: str, points: Points) -> np.ndarray:
    """Which points `(P,)` show progress; the first always does."""
    counts = points.steps.astype(np.float64)
    if (counted_unit(name) is Unit.STEPS or seen_unit(name) is not None) and np.ptp(np.nan_to_num(points.values)) > 0:
        counts = np.nan_to_num(points.values)
    elif not np.any(counts != counts[0]):
        return np.ones(counts.size, dtype=bool)
    return np.append(True, np.diff(counts) != 0)


def _on_the_clock(times_s: Floats, clock: JobClock) -> Floats:
    """The times within the job. Where they begin before it and go on across its start without a break, the script's
    clock is behind; what was logged before a break is of an earlier job."""
    early = times_s[times_s < 0]
    late: Floats = times_s[times_s >= 0]
    if not early.size:
        return times_s
    gaps = np.diff(times_s)
    if late.size and gaps.size and late[0] - early[-1] <= 2 * float(np.median(gaps)) + 5:
        moved: Floats = times_s - times_s[0]
        if moved[-1] <= clock.elapsed_s + EARLY_S:
            return moved
    return late
