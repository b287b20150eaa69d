"""The use of a run as a short row of numbers: enough to draw it as a line beside its name in a list of many runs."""

from itertools import pairwise

import numpy as np

from analysis.facts import divide
from metrics.series import Floats

STEPS, UNMEASURED = 24, 255
"""Points of a course, and the byte of one that was not measured; 24 are as many as a line of 96 pixels shows."""


def use_course(util: Floats, step_s: float, elapsed_s: float) -> bytes | None:
    """Mean use of all GPUs in 24 equal parts of a run, one byte of 0..100 each; None where nothing was measured.

    `util` (T, G) is in percent with NaN for what was not measured; each of its rows is `step_s` long, the last one ends
    with the run.

    >>> list(use_course(np.array([[100.0, 0.0], [np.nan, np.nan]]), 60.0, 120.0))[::12]
    [50, 255]
    """
    is_measured = ~np.isnan(util)
    counts = is_measured.sum(axis=1)
    if not counts.any():
        return None
    means = divide(np.where(is_measured, util, 0.0).sum(axis=1), counts.astype(np.float64))
    starts_s: Floats = np.arange(means.size, dtype=np.float64) * step_s
    edges_s = np.linspace(0.0, elapsed_s if elapsed_s > 0 else means.size * step_s, STEPS + 1)
    return bytes(_mean_between(means, starts_s, step_s, *part) for part in pairwise(edges_s.tolist()))


def _mean_between(means: Floats, starts_s: Floats, step_s: float, low_s: float, high_s: float) -> int:
    """The mean of a part, weighted by how much of each step falls into it."""
    overlap_s = np.clip(np.minimum(starts_s + step_s, high_s) - np.maximum(starts_s, low_s), 0.0, None)
    weights = np.where(np.isnan(means), 0.0, overlap_s)
    total_s = weights.sum()
    if total_s <= 0:
        return UNMEASURED
    return round(float(np.clip((np.nan_to_num(means) * weights).sum() / total_s, 0.0, 100.0)))


def course_points(course: bytes | None) -> tuple[int | None, ...]:
    """The points of a stored course in percent; None for what was not measured.

    >>> course_points(bytes([0, 100, 255]))
    (0, 100, None)
    """
    return tuple(None if point == UNMEASURED else point for point in course or b"")
