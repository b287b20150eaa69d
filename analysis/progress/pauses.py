"""Pauses between steps that coincide with dips of GPU use: evaluation, checkpoints, loading; pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.progress.counter import Counter, step_counter
from analysis.progress.logged import BusyTime, JobClock, LoggedRun, within_job
from analysis.progress.rates import seconds_a_count
from analysis.thresholds import LIMITS, Limits
from jobs.experiments.points import Floats


@dataclass(frozen=True)
class Pauses:
    """How often steps paused, how long all of that took and a usual pause, in seconds, as a share of the job; and mean
    use in percent while they went on and while they paused."""

    count: int
    total_s: float
    typical_s: float
    fraction: float
    working_percent: float
    paused_percent: float


def step_pauses_of(
    runs: Sequence[LoggedRun], clock: JobClock, busy: BusyTime, limits: Limits = LIMITS
) -> Pauses | None:
    """The pauses of the job's only run, where use is clearly lower in them; None where there are none."""
    found = [(run, counter) for run in runs if (counter := step_counter(within_job(run, clock))) is not None]
    if len(found) != 1:
        return None
    run, counter = found[0]
    starts_s, ends_s, extra_s = _long_gaps(counter, run.series[counter.name].digest.count, clock, limits)
    total_s = float(np.sum(extra_s))
    fraction = total_s / clock.elapsed_s if clock.elapsed_s > 0 else 0.0
    if extra_s.size < limits.pauses_min or fraction < limits.pauses_fraction:
        return None
    levels = _levels(busy, starts_s, ends_s, extra_s, (counter.times_ms[[0, -1]] - clock.start_ms) / 1000, limits)
    if levels is None:
        return None
    return Pauses(int(extra_s.size), total_s, float(np.median(extra_s)), fraction, *levels)


def _long_gaps(counter: Counter, logged: int, clock: JobClock, limits: Limits) -> tuple[Floats, Floats, Floats]:
    """The stretches between kept steps that took far longer than their steps do: begin, end and how much longer,
    `(P,)` each, in seconds. `logged` is how many points there were before most of them were left out."""
    usual_s = seconds_a_count(counter)
    nothing = np.zeros(0)
    if usual_s is None:
        return nothing, nothing, nothing
    seconds: Floats = (counter.times_ms - clock.start_ms) / 1000
    took_s, counts = np.diff(seconds), np.diff(counter.counts)
    # A counter that begins again, with each epoch, has made as many steps as it shows.
    counts = np.where(counts < 0, np.maximum(counter.counts[1:], 0), counts)
    expected_s = usual_s * counts
    extra_s = took_s - expected_s
    interval_s = float(np.median(took_s)) if logged <= seconds.size else float(seconds[-1] - seconds[0]) / logged
    is_slow = took_s >= limits.slow_factor * expected_s
    is_alone = (took_s >= limits.pause_factor * expected_s) | ~_in_a_row(is_slow, limits.slow_in_a_row)
    is_long = is_slow & is_alone & (extra_s >= max(limits.pause_s, 2 * interval_s))
    return seconds[:-1][is_long], seconds[1:][is_long], extra_s[is_long]


def _in_a_row(holds: NDArray[np.bool_], least: int) -> NDArray[np.bool_]:
    """Which of these are among so many neighbours that hold: steps that were all slow for a while are no pause."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]])))
    found = np.zeros(holds.size, dtype=bool)
    for start, end in edges.reshape(-1, 2).tolist():
        found[start:end] = end - start >= least
    return found


def _levels(
    busy: BusyTime, starts_s: Floats, ends_s: Floats, extra_s: Floats, span_s: Floats, limits: Limits
) -> tuple[float, float] | None:
    """Mean use while steps went on and while they paused, by least squares over the parts of the timeline; None where
    use is not clearly lower in the pauses.

    A part of the timeline may be longer than a pause: it counts with the share of it that was paused.
    """
    edges_s = np.arange(busy.use.size + 1) * busy.step_s
    paused_s = np.zeros(busy.use.size)
    # Most of such a stretch is pause, and where in it is not known: it counts evenly.
    weights = extra_s / (ends_s - starts_s)
    for start_s, end_s, weight in zip(starts_s.tolist(), ends_s.tolist(), weights.tolist(), strict=True):
        paused_s += weight * np.clip(np.minimum(edges_s[1:], end_s) - np.maximum(edges_s[:-1], start_s), 0.0, None)
    is_known = ~np.isnan(busy.use) & (edges_s[:-1] >= span_s[0]) & (edges_s[1:] <= span_s[1])
    share, use = paused_s[is_known] / busy.step_s if busy.step_s else paused_s[is_known], busy.use[is_known]
    if use.size < limits.pauses_buckets_min or float(np.ptp(share)) < limits.pauses_seen_fraction:
        return None
    if float(np.std(use)) == 0:
        return None
    slope, level = np.polyfit(share, use, 1)
    fits = -float(np.corrcoef(share, use)[0, 1])
    if fits < limits.pauses_fit or -slope < limits.pauses_dip_fraction * level:
        return None
    return min(float(level), 100.0), min(max(float(level + slope), 0.0), 100.0)
