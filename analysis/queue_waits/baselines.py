"""The two simple ways to tell a wait that an estimate must beat; used by the backtest alone."""

import math
from collections import defaultdict, deque
from collections.abc import Hashable

import numpy as np

from analysis.queue_waits.ranges import HIGH, LOW
from analysis.queue_waits.rule import DAY_S, STARTS_MAX, WAIT_S_MIN, Asked, Starts

QUANTILES_S = 14 * DAY_S
LAST_STARTS = 5

Range = tuple[float, float, float]
"""Low, typical and high, in seconds."""


class Baselines:
    """What both would have answered, asked in the order of time.

    `quantiles`: of the waits of the partition that became known within 14 days. `last_five`: the least, the median
    and the longest of the last five starts of the same project, size and time limit; where there is none of the same
    project; of the same size and time limit; of the partition.
    """

    def __init__(self, starts: Starts) -> None:
        order = np.argsort(starts.known_s, kind="stable")
        self._starts = starts
        self._order = order
        self._known_s = starts.known_s[order]
        self._wait_s = np.maximum(starts.wait_s[order], WAIT_S_MIN)
        self._last: dict[Hashable, deque[float]] = defaultdict(lambda: deque(maxlen=LAST_STARTS))
        self._next = 0

    def quantiles(self, at_s: float) -> Range | None:
        first, end = np.searchsorted(self._known_s, [at_s - QUANTILES_S, at_s], side="right")
        if first == end:
            first = 0
        waits = self._wait_s[max(first, end - STARTS_MAX) : end]
        if not len(waits):
            return None
        low, typical, high = np.quantile(waits, [LOW, 0.5, HIGH])
        return float(low), float(typical), float(high)

    def last_five(self, asked: Asked) -> Range | None:
        while self._next < len(self._order) and self._known_s[self._next] <= asked.at_s:
            for key in self._keys_of(int(self._order[self._next])):
                self._last[key].append(float(self._wait_s[self._next]))
            self._next += 1
        limit_s = math.nan if asked.limit_s is None else asked.limit_s
        for key in _keys(asked.project, float(asked.gpus), float(asked.nodes), limit_s):
            if key in self._last:
                waits = self._last[key]
                return min(waits), float(np.median(waits)), max(waits)
        return None

    def _keys_of(self, row: int) -> tuple[Hashable, ...]:
        one = self._starts
        return _keys(int(one.project[row]), float(one.gpus[row]), float(one.nodes[row]), float(one.limit_s[row]))


def _keys(project: int | None, gpus: float, nodes: float, limit_s: float) -> tuple[Hashable, ...]:
    shape = gpus, nodes, None if math.isnan(limit_s) else limit_s
    return ("own", project, shape), ("own", project), ("shape", shape), "partition"
