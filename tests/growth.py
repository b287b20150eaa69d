"""Whether work grows with its input: compared with itself in the same run, so that no machine is too slow for it."""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 3
A_MOMENT_S = 0.001
"""What is done sooner says nothing about growth."""


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Four times as much may cost eight times the time of this process; by the square of the size it costs 16 times."""
    return cost_s(work, size) < 8 * max(cost_s(work, size // 4), A_MOMENT_S)


def cost_s(work: Callable[[int], object], size: int) -> float:
    """Seconds of this process, the least of some tries."""
    return min(_once_s(work, size) for _ in range(TRIES))


def _once_s(work: Callable[[int], object], size: int) -> float:
    began_s = time.process_time()
    work(size)
    return time.process_time() - began_s
