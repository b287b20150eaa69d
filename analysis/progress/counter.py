"""The step counter of a run, from what its script logged: which of its metrics shows it, and when it moved; pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.progress.names import Unit, counted_unit, is_by_timer, is_of_evaluation, is_of_training, rate_unit
from jobs.experiments.points import Floats, Ints, Points, Series

TOGETHER_MS = 1000
"""Points within a second count as one: scripts that collect their points and log them at once."""


@dataclass(frozen=True)
class Counter:
    """How far a run was at which time, `(P,)` each, in the order of times, at most once a second.

    `name` is the metric that shows it. `counts` are its steps, or its values where these count (`tokens_seen`).
    """

    name: str
    unit: Unit
    times_ms: Ints
    counts: Floats

    def __len__(self) -> int:
        return int(self.times_ms.size)

    @property
    def moved(self) -> tuple[Floats, Floats]:
        """Seconds and counts of each stretch between neighbours in which the counter rose, `(I,)` each."""
        seconds, counts = np.diff(self.times_ms) / 1000, np.diff(self.counts)
        rose = (seconds > 0) & (counts > 0)
        return seconds[rose], counts[rose]


def step_counter(series: Mapping[str, Series]) -> Counter | None:
    """The step counter of a run; None where nothing that it logged counts.

    A metric whose values count steps (`global_step`) first, because others may log by a timer; then the steps of the
    metric of training with most points, then of any metric that no timer logs; last, values that count epochs.
    """
    named = counter_by_values(series, Unit.STEPS)
    if named is not None:
        return named
    found = [
        (is_of_training(name), not is_of_evaluation(name), one.digest.count, name)
        for name, one in series.items()
        if not is_by_timer(name) and len(one.points) and np.ptp(one.points.steps) > 0 and not _is_once_a_run(name, one)
    ]
    if not found:
        return counter_by_values(series, Unit.EPOCHS)
    name = max(found)[-1]
    points = series[name].points
    unit = Unit.EPOCHS if _steps_are_epochs(series, points) else Unit.STEPS
    return counter_of(name, unit, points, points.steps.astype(np.float64))


def counter_of(name: str, unit: Unit, points: Points, counts: Floats) -> Counter:
    """A counter of these counts `(P,)`, the last of each second."""
    is_known = np.isfinite(counts)
    times_ms, counts = points.times_ms[is_known], counts[is_known]
    seconds = times_ms // TOGETHER_MS
    is_last = np.append(np.diff(seconds) != 0, True) if seconds.size else np.zeros(0, dtype=bool)
    return Counter(name, unit, times_ms[is_last], counts[is_last])


def counter_by_values(series: Mapping[str, Series], unit: Unit) -> Counter | None:
    """The counter whose name states that its values count; only where they do rise."""
    for name, one in sorted(series.items()):
        if counted_unit(name) is unit and one.digest.least_value is not None and len(one.points) > 1:
            counter = counter_of(name, unit, one.points, one.points.values)
            if len(counter) > 1 and float(np.max(counter.counts)) > float(np.min(counter.counts)):
                return counter
    return None


def _steps_are_epochs(series: Mapping[str, Series], points: Points) -> bool:
    """Whether the steps of these points are the epochs that another metric counts."""
    for name, one in series.items():
        values = one.points.values
        if counted_unit(name) is Unit.EPOCHS and np.all(np.isfinite(values)) and len(one.points) > 1:
            is_same = np.abs(values - one.points.steps) <= 1
            return bool(np.all(is_same)) and int(points.steps[-1]) <= int(one.points.steps[-1]) + 1
    return False


def _is_once_a_run(name: str, one: Series) -> bool:
    """Whether a metric is a summary of the end: a rate that was logged once or twice."""
    return rate_unit(name) is not None and one.digest.count <= 2
