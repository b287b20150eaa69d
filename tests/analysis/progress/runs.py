"""Series of made-up runs for tests: what a script logged at which step and second."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jobs.experiments.points import Points, Series, in_order, merged


def series(steps: Sequence[float], seconds: Sequence[float], values: Sequence[float] | None = None) -> Series:
    """A metric with one point for each of these steps and seconds; 1.0 where no values are given."""
    times_ms = np.round(np.array(seconds, dtype=np.float64) * 1000).astype(np.int64)
    numbers = np.ones(len(steps)) if values is None else np.array(values, dtype=np.float64)
    return merged(None, in_order(Points(np.array(steps, dtype=np.int64), times_ms, numbers)))
