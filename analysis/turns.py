"""Which GPUs worked when: at the same time or in turns, to the end or not.

Read from the timeline: `(T, G)` buckets of busy percent; a bucket counts as work above `active_gpu_percent`, or above
half of what that GPU reaches where it never gets so far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats, JobSeries

AT_ONCE_PERCENTILE = 90
"""GPUs that hand over overlap for a moment: what nine tenths of the working time show is the rule."""


@dataclass(frozen=True)
class GpuTurns:
    """The GPUs that worked: how many there are, how many worked at the same time, and when each stopped.

    `ends_s` `(G,)` is the end of each GPU's last work, the last end of any where it never worked; `busy_percent` is
    the mean use of working buckets.
    """

    working: int
    at_once: int
    busy_percent: float
    ends_s: Floats
    last_end_s: float


def gpu_turns(series: JobSeries, did_work: NDArray[np.bool_], limits: Limits = LIMITS) -> GpuTurns | None:
    """When the GPUs `(G,)` that worked did; None where fewer than two did or the timeline is too short to show it."""
    chosen = np.flatnonzero(did_work)
    if chosen.size < 2 or series.length < limits.span_buckets_min:
        return None
    util = series.util if chosen.size == did_work.size else series.util[:, chosen]
    is_busy = util > np.minimum(limits.active_gpu_percent, np.fmax.reduce(util, axis=0) / 2)
    at_once = np.count_nonzero(is_busy, axis=1)
    if not np.any(at_once):
        return None
    ends_s = (util.shape[0] - np.argmax(is_busy[::-1], axis=0)) * series.step_s
    last_end_s = float(np.flatnonzero(at_once)[-1] + 1) * series.step_s
    all_ends_s = np.full(did_work.size, last_end_s)
    all_ends_s[chosen] = np.where(np.any(is_busy, axis=0), ends_s, last_end_s)
    return GpuTurns(
        working=int(chosen.size),
        at_once=int(np.percentile(at_once[at_once > 0], AT_ONCE_PERCENTILE)),
        busy_percent=float(np.mean(util, where=is_busy)),
        ends_s=all_ends_s,
        last_end_s=last_end_s,
    )
