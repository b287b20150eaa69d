"""What it cost until a metric first reached a value: the time and GPU-hours of the run until then; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis.progress.names import words_of
from analysis.progress.rates import Stretch
from jobs.experiments.points import Series


class Direction(StrEnum):
    """Which values of a metric are better."""

    LOWER = "lower"
    HIGHER = "higher"


LOWER_WORDS = frozenset(
    {
        *("loss", "error", "err", "perplexity", "ppl", "mae", "mse", "rmse", "nll", "wer", "cer", "fid", "bpc", "bpb"),
        *("divergence", "distance", "residual", "mape"),
    }
)
HIGHER_WORDS = frozenset(
    {
        *("accuracy", "acc", "auc", "auroc", "f1", "precision", "recall", "score", "bleu", "rouge", "iou", "miou"),
        *("map", "dice", "psnr", "ssim", "reward", "return", "r2", "top1", "top5", "mrr", "ndcg"),
    }
)


@dataclass(frozen=True)
class Reached:
    """When a metric first reached a value, and what the run had cost by then.

    `run_s` and `gpu_hours` count the time within the run's jobs alone, not what it waited between them; `gpu_hours` is
    None where a job has no price. Between kept points the true moment may be up to `earlier_by_s` before.
    """

    step: int
    time_ms: int
    value: float
    run_s: float
    gpu_hours: float | None
    earlier_by_s: float


def usual_direction(name: str) -> Direction | None:
    """Which values of a metric of this name are better; None where the name does not show it.

    >>> usual_direction("val/loss").value, usual_direction("eval_accuracy").value, usual_direction("lr")
    ('lower', 'higher', None)
    """
    words = {*words_of(name), *name.lower().replace("/", "_").split("_")}
    lower, higher = not LOWER_WORDS.isdisjoint(words), not HIGHER_WORDS.isdisjoint(words)
    if lower == higher:
        return None
    return Direction.LOWER if lower else Direction.HIGHER


def reached(series: Series, value: float, direction: Direction, stretches: Sequence[Stretch]) -> Reached | None:
    """When the metric first had this value or a better one; None where no kept point has.

    >>> from jobs.experiments.points import Points, merged
    >>> points = Points(np.array([10, 20, 30]), np.array([0, 1_800_000, 3_600_000]), np.array([0.9, 0.5, 0.2]))
    >>> found = reached(merged(None, points), 0.5, Direction.LOWER, [Stretch(0, 3_600_000, 8, 4.0)])
    >>> found.step, found.run_s, found.gpu_hours
    (20, 1800.0, 2.0)
    """
    points = series.points
    with np.errstate(invalid="ignore"):
        is_there = points.values <= value if direction is Direction.LOWER else points.values >= value
    places = np.flatnonzero(is_there & np.isfinite(points.values))
    if not places.size:
        return None
    at = int(places[0])
    time_ms = int(points.times_ms[at])
    until = [_until(stretch, time_ms) for stretch in stretches]
    return Reached(
        step=int(points.steps[at]),
        time_ms=time_ms,
        value=float(points.values[at]),
        run_s=sum(stretch.hours for stretch in until) * 3600,
        gpu_hours=_gpu_hours(until),
        earlier_by_s=(time_ms - int(points.times_ms[at - 1])) / 1000 if at and series.is_thinned else 0.0,
    )


def _until(stretch: Stretch, time_ms: int) -> Stretch:
    """The part of a stretch before a time."""
    end_ms = max(min(stretch.end_ms, time_ms), stretch.start_ms)
    return Stretch(stretch.start_ms, end_ms, stretch.gpus, stretch.gpu_hours_an_hour)


def _gpu_hours(stretches: Sequence[Stretch]) -> float | None:
    """What these are billed together; None without a price for each that has any time."""
    total = 0.0
    for stretch in stretches:
        if stretch.hours:
            if stretch.gpu_hours_an_hour is None:
                return None
            total += stretch.hours * stretch.gpu_hours_an_hour
    return total if any(stretch.hours for stretch in stretches) else None
