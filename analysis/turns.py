"""Which GPUs worked when: at the same time or in turns, to the end or not.

Read from the timeline: `(T, G)` buckets of busy percent. A GPU is at work above `active_gpu_percent`; it has stopped
permanently where nothing above `nearly_idle_percent` follows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats, JobSeries

AT_ONCE_PERCENTILE = 90
"""GPUs that hand over work overlap for a moment: 90 % of the working time decides."""


@dataclass(frozen=True)
class GpuTurns:
    """The GPUs that worked: how many there are, how many worked at the same time, and when each stopped.

    `ends_s` `(G,)` is the end of each GPU's last work, `last_busy_s` when the last of them was at work; a GPU that
    never worked ends then. `busy_percent` is the mean use of buckets at work, `share_at_work` how much of all use is
    in them (little where use is low all the time and single buckets rise by chance), `longest_share` how much of the
    time at work the GPU with most of it was.
    """

    working: int
    at_once: int
    share_at_work: float
    longest_share: float
    busy_percent: float
    ends_s: Floats
    last_busy_s: float

    def is_in_turns(self, limits: Limits = LIMITS) -> bool:
        """Whether GPUs hand work over: most of the use is in turns, and no GPU has all the turns."""
        takes_turns = self.at_once <= self.working * limits.in_turns_fraction
        return takes_turns and self.share_at_work >= limits.in_turns_share >= self.longest_share


def gpu_turns(series: JobSeries, did_work: NDArray[np.bool_], limits: Limits = LIMITS) -> GpuTurns | None:
    """When the GPUs `(G,)` that worked did; None where fewer than two did or the timeline is too short to show it."""
    chosen = np.flatnonzero(did_work)
    if chosen.size < 2 or series.length < limits.span_buckets_min:
        return None
    util = series.util if chosen.size == did_work.size else series.util[:, chosen]
    is_busy = util > limits.active_gpu_percent
    at_once = np.count_nonzero(is_busy, axis=1)
    if not np.any(at_once):
        return None
    is_going_on = util > limits.nearly_idle_percent
    # A single reading after the work is one bucket; work that continues is at least two.
    is_going_on[1:] &= is_going_on[:-1]
    ends = util.shape[0] - np.argmax(is_going_on[::-1], axis=0)
    last_busy_s = float(np.flatnonzero(at_once)[-1] + 1) * series.step_s
    all_ends_s = np.full(did_work.size, last_busy_s)
    all_ends_s[chosen] = ends * series.step_s
    # A gap is not busy; only a sum that includes gaps is computed again without them.
    busy_sum, whole_sum = np.sum(util, where=is_busy), np.sum(util)
    return GpuTurns(
        working=int(chosen.size),
        at_once=int(np.percentile(at_once[at_once > 0], AT_ONCE_PERCENTILE, method="inverted_cdf")),
        share_at_work=float(busy_sum / (np.nansum(util) if np.isnan(whole_sum) else whole_sum)),
        longest_share=float(np.max(np.count_nonzero(is_busy, axis=0)) / np.count_nonzero(at_once)),
        busy_percent=float(busy_sum / np.sum(at_once)),
        ends_s=all_ends_s,
        last_busy_s=last_busy_s,
    )
