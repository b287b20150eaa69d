"""A loss that is no number any more: from which step on, and for how long the run went on; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.progress.logged import JobClock, LoggedRun
from analysis.progress.names import is_by_timer, is_of_evaluation, words_of
from analysis.thresholds import LIMITS, Limits
from jobs.experiments.points import Points, Series, in_order

LOSS_NAMES = frozenset({"loss", "losses", "nll", "perplexity", "ppl", "objective", "elbo", "cost"})
NOT_THE_LOSS = frozenset(
    {
        *("aux", "auxiliary", "scale", "scaler", "scaling", "best", "min", "max", "lowest", "weight", "weights"),
        *("coef", "coefficient", "ratio", "delta", "std", "var", "variance", "time", "seconds", "class", "per"),
        *("penalty", "reg", "regularization", "regularisation", "balancing", "balance", "patience", "improvement"),
    }
)
PLAIN_WORDS = frozenset(
    {"train", "training", "total", "loss", "losses", "step", "epoch", "batch", "running", "avg", "mean"}
)


@dataclass(frozen=True)
class NotANumber:
    """The metric, the first step at which it was NaN or infinite for good, and when: seconds since the job's start.

    `lasted_s` is the time from then to the last point of the run in this job.
    """

    name: str
    step: int
    since_s: float
    lasted_s: float


def loss_not_a_number(runs: Sequence[LoggedRun], clock: JobClock, limits: Limits = LIMITS) -> NotANumber | None:
    """Where the loss of the job's only run in that time became NaN or infinite for good and the run went on.

    With several losses of training all of them: a single one may be undefined. Losses of evaluation count only where
    training logs none.
    """
    spans = [_span_s(run, clock) for run in runs]
    found = [(at, lost) for at, run in enumerate(runs) if (lost := _of_run(run, clock, limits)) is not None]
    for at, lost in sorted(found, key=lambda pair: -pair[1].lasted_s):
        others = [span for place, span in enumerate(spans) if place != at and span is not None]
        if not any(first < lost.since_s + lost.lasted_s and last > lost.since_s for first, last in others):
            return lost
    return None


def is_loss(name: str) -> bool:
    """Whether a metric is what the run minimises, as its name says.

    >>> is_loss("lossG"), is_loss("train/aux_loss"), is_loss("gloss_score"), is_loss("loss_scale")
    (True, False, False, False)
    """
    words = set(words_of(name))
    return not LOSS_NAMES.isdisjoint(words) and NOT_THE_LOSS.isdisjoint(words) and not is_by_timer(name)


def _of_run(run: LoggedRun, clock: JobClock, limits: Limits) -> NotANumber | None:
    losses = _decisive({name: one for name, one in run.series.items() if is_loss(name) and len(one.points)})
    span = _span_s(run, clock)
    if not losses or span is None:
        return None
    lost = [_lost(name, one, clock, span[1]) for name, one in sorted(losses.items())]
    known = [one for one in lost if one is not None]
    if len(known) < len(lost):
        return None
    latest = max(known, key=lambda one: one.since_s)
    return latest if latest.lasted_s >= limits.nan_s else None


def _decisive(losses: Mapping[str, Series]) -> Mapping[str, Series]:
    """The losses that decide: the whole loss of training, else all of training, else all of evaluation."""
    of_training = {name: one for name, one in losses.items() if not is_of_evaluation(name)}
    whole = {name: one for name, one in of_training.items() if set(words_of(name)) <= PLAIN_WORDS}
    return whole or of_training or losses


def _lost(name: str, one: Series, clock: JobClock, end_s: float) -> NotANumber | None:
    """From where on a metric is no number for good, and for longer than it ever was before; None where it is one."""
    points, digest = in_order(one.points), one.digest
    bad = ~np.isfinite(points.values)
    seconds = clock.seconds(points)
    if not bad[-1] or np.count_nonzero(seconds[bad] >= 0) < LIMITS.nan_points_min:
        return None
    good = np.flatnonzero(~bad)
    first = int(good[-1]) + 1 if good.size else 0
    if np.count_nonzero(bad[first:]) < LIMITS.nan_points_min:
        return None
    step, since_s = int(points.steps[first]), float(seconds[first])
    if digest.nan_since_step is not None and digest.nan_since_ms is not None:
        exact_s = (digest.nan_since_ms - clock.start_ms) / 1000
        if exact_s < since_s and (not good.size or exact_s > float(seconds[good[-1]])):
            step, since_s = digest.nan_since_step, exact_s
    since_s = max(since_s, 0.0)
    if end_s - since_s <= LIMITS.nan_before * _longest_before_s(points, seconds, good):
        return None
    return NotANumber(name, step, since_s, end_s - since_s)


def _longest_before_s(points: Points, seconds: np.ndarray, good: np.ndarray) -> float:
    """The longest time between two numbers with others between them: rows that are filled with NaN."""
    gaps = [
        float(seconds[later] - seconds[earlier]) for earlier, later in pairwise(good.tolist()) if later > earlier + 1
    ]
    return max(gaps, default=0.0)


def _span_s(run: LoggedRun, clock: JobClock) -> tuple[float, float] | None:
    """The first and the last moment within the job at which a run logged anything that no timer logs."""
    times_s = [clock.seconds(one.points) for name, one in run.series.items() if not is_by_timer(name)]
    joined = np.concatenate([np.zeros(0), *times_s])
    within = joined[(joined >= 0) & (joined <= clock.elapsed_s)]
    return (float(np.min(within)), float(np.max(within))) if within.size else None
