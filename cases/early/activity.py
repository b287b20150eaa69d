"""Who worked when: the samples of a whole run as windows of five minutes, for what is true of it at a cut.

A window is `idle` below 1 % mean use and `works` from 5 %. Single samples of use between idle ones are left out: a
monitoring call or a driver's blip is no work of the owner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cases.early.cutting import Course
from cases.readings import Floats, Node

WINDOW_S = 300.0
IDLE_BELOW_PERCENT, WORKS_FROM_PERCENT = 1.0, 5.0
BUSY_FROM_PERCENT = 85.0
"""Nearly always busy: what a waiting kernel shows."""
SPIN_SHARE_BELOW = 0.25
"""A module waits if it draws less than a quarter of the way from idle to its cap: 100 to 200 W of 500 W on an MI250X,
where two spinning GPUs draw 110-180 W and memory-bound work 300 W (LUMI training, multiple GPUs)."""
IDLE_SHARE_OF_CAP = 0.18
"""Idle power of a module against its cap: 82-102 W of 500 W on LUMI."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Activity:
    """`util` is the mean busy percent (W, G) over the GPUs of all nodes, NaN where a window was not
    measured and for GPUs whose readings a case drops; `mem` the
    highest share of GPU memory in use (W, G); `spins` (W,) whether all modules with a reading only waited."""

    util: Floats
    mem: Floats
    spins: Bools

    @cached_property
    def is_idle(self) -> Bools:
        """(W,) windows in which some GPU was measured and none was used."""
        is_read, is_used = ~np.isnan(self.util), self.util >= IDLE_BELOW_PERCENT
        return np.asarray(is_read.any(axis=1) & ~is_used.any(axis=1))

    @cached_property
    def works(self) -> Bools:
        """(W, G) windows of real work."""
        return self.util >= WORKS_FROM_PERCENT

    def idle_s(self, at_s: float) -> float:
        """Seconds before the cut in which no GPU was used at all."""
        return _trailing(self.is_idle[: _window(at_s)]) * WINDOW_S

    def spin_s(self, at_s: float) -> float:
        return _trailing(self.spins[: _window(at_s)]) * WINDOW_S

    def resumes_s(self, at_s: float, gpus: Bools | None = None) -> float:
        """Seconds from the cut until ten minutes of work begin on any GPU (of those in the mask), infinite if never."""
        later = self.works[_window(at_s) :]
        later = np.any(later if gpus is None else later[:, gpus], axis=1)
        pairs = np.flatnonzero(later[:-1] & later[1:])
        return float(pairs[0]) * WINDOW_S if pairs.size else math.inf

    def unused(self, at_s: float) -> Bools:
        """(G,) GPUs that were measured and not used in any window so far."""
        past = self.util[: _window(at_s)]
        is_read, is_used = ~np.isnan(past), past >= IDLE_BELOW_PERCENT
        return np.asarray(is_read.any(axis=0) & ~is_used.any(axis=0))

    def work_s(self, at_s: float) -> float:
        """Seconds so far in which some GPU did real work."""
        return float(np.sum(np.any(self.works[: _window(at_s)], axis=1))) * WINDOW_S

    def memory_share(self, at_s: float, back_s: float = 0.0) -> Floats:
        """(G,) the highest share of GPU memory in the half hour before `back_s` before the cut, NaN if not read."""
        to = max(1, _window(at_s - back_s))
        past = self.mem[max(0, to - 6) : to]
        return np.max(np.where(np.isnan(past), -1.0, past), axis=0) if past.size else np.zeros(self.mem.shape[1])


def activity(course: Course) -> Activity:
    windows = max(1, math.ceil(course.elapsed_s / WINDOW_S))
    parts = [_node(node, windows) for node in course.nodes if node.util.shape[1]]
    if not parts:
        return Activity(np.full((windows, 0), np.nan), np.full((windows, 0), np.nan), np.zeros(windows, bool))
    spins = np.all([part[2] for part in parts], axis=0) if all(part[3] for part in parts) else np.zeros(windows, bool)
    return Activity(np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts]), spins)


def _node(node: Node, windows: int) -> tuple[Floats, Floats, Bools, bool]:
    util = _by_window(_without_blips(np.clip(node.util, 0, 100)), node.step_s, windows)
    util[:, [node.fields.get(gpu_id, {}).get("avg_util", 0) is None for gpu_id in _ids(node)]] = np.nan
    mem = _by_window(node.mem_gb / node.mem_total_gb, node.step_s, windows)
    if node.power_w is None or node.power_w.shape[1] == 0:
        return util, mem, np.zeros(windows, bool), False
    watts = _by_window(node.power_w, node.step_s, windows)
    idle_w = node.power_cap_w * IDLE_SHARE_OF_CAP
    share = (watts - idle_w) / (node.power_cap_w - idle_w)
    used = np.where(np.isnan(util), 0.0, util)
    busy = np.sum(used >= BUSY_FROM_PERCENT, axis=1) >= 0.5 * used.shape[1]
    return util, mem, busy & ~np.any(share >= SPIN_SHARE_BELOW, axis=1) & ~np.all(np.isnan(share), axis=1), True


def _ids(node: Node) -> tuple[int, ...]:
    return node.gpu_ids or tuple(range(node.util.shape[1]))


def _without_blips(util: Floats) -> Floats:
    used = np.where(np.isnan(util), 0.0, util) > 1.0
    padded = np.pad(used, ((1, 1), (0, 0)))
    is_blip = used & ~padded[:-2] & ~padded[2:] & (np.nan_to_num(util) < 50.0)
    return np.where(is_blip, 0.0, util)


def _by_window(values: Floats, step_s: float, windows: int) -> Floats:
    """Means of the samples of each window; a sample longer than a window fills all windows that it covers."""
    if step_s > WINDOW_S:
        values = np.repeat(values, math.ceil(step_s / WINDOW_S), axis=0)
        step_s /= math.ceil(step_s / WINDOW_S)
    window = np.minimum((np.arange(values.shape[0]) * step_s // WINDOW_S).astype(np.int64), windows - 1)
    sums, counts = np.zeros((windows, values.shape[1])), np.zeros((windows, values.shape[1]))
    np.add.at(sums, window, np.nan_to_num(values))
    np.add.at(counts, window, ~np.isnan(values))
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _window(at_s: float) -> int:
    return int(at_s / WINDOW_S)


def _trailing(flags: Bools) -> int:
    breaks = np.flatnonzero(~flags)
    return int(flags.size - breaks[-1] - 1) if breaks.size else int(flags.size)
