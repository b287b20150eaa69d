"""Progress that stopped for good while the job went on, beside the use of its GPUs before and after; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.progress.logged import BusyTime, JobClock, LoggedRun, progress_s
from analysis.thresholds import LIMITS, Limits

BEFORE_MIN, AFTER_MIN = 5, 3
"""So many parts of the timeline show how use was before and after."""


@dataclass(frozen=True)
class Stop:
    """Progress until `since_s` after the job's start, none for `silent_s` until its end; `usual_gap_s` was the longest
    time without any before that."""

    since_s: float
    silent_s: float
    usual_gap_s: float
    first_s: float


def stopped(runs: Sequence[LoggedRun], clock: JobClock, limits: Limits = LIMITS) -> Stop | None:
    """Where all runs of a job stopped for good: for a quarter of an hour or more, and for three times as long as ever
    before. None where they went on, or logged too little to tell.
    """
    times_s = np.unique(np.concatenate([np.zeros(0), *(progress_s(run, clock) for run in runs)]))
    if times_s.size < limits.progress_points_min:
        return None
    last_s, gap_s = float(times_s[-1]), float(np.max(np.diff(times_s)))
    silent_s = clock.elapsed_s - last_s
    if silent_s < max(limits.flat_s, limits.flat_gaps * gap_s):
        return None
    return Stop(last_s, silent_s, gap_s, float(times_s[0]))


def stayed_busy(stop: Stop, busy: BusyTime, clock: JobClock, limits: Limits = LIMITS) -> bool:
    """Whether the GPUs were busy from then on, over at least half of that time."""
    after = _after(stop, busy, clock)
    is_measured = after.size * busy.step_s >= limits.flat_measured_fraction * stop.silent_s
    return bool(is_measured and after.size and float(np.mean(after)) >= limits.spinning_busy_percent)


def use_changed(stop: Stop, busy: BusyTime, clock: JobClock) -> bool | None:
    """Whether use became steady when progress stopped, as of kernels that wait; None where too little was measured to
    tell. Work whose points were lost goes on as before."""
    before, after = busy.between(stop.first_s, stop.since_s), _after(stop, busy, clock)
    if before.size < BEFORE_MIN or after.size < AFTER_MIN:
        return None
    return bool(np.std(after) <= min(float(np.std(before)) / 2, 1.0))


def _after(stop: Stop, busy: BusyTime, clock: JobClock) -> np.ndarray:
    return busy.between(stop.since_s + min(stop.usual_gap_s, stop.silent_s / 4), clock.elapsed_s)
