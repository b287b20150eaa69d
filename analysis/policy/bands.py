"""Numbers of single people as bands that several of them share: whoever knows a person's number finds no single row."""

import math
from collections import defaultdict
from collections.abc import Sequence

from analysis.feedback import GROUP_USERS_MIN

SCALE = (5, 2, 1)


def lower_bound(value: float) -> float:
    """The largest of 1, 2, 5, 10, 20, 50 and so on that a value reaches; 0 below 1.

    >>> lower_bound(0.7), lower_bound(1.0), lower_bound(499.9), lower_bound(500.0)
    (0.0, 1.0, 200.0, 500.0)
    """
    if value < 1:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((digit * power for digit in SCALE if digit * power <= value), power / 2)


def banded(values: Sequence[float]) -> list[float]:
    """Each value as the least value of its band; at least `GROUP_USERS_MIN` share each.

    Raises ValueError for fewer values.

    A band of too few values is joined with the next lower one; the lowest with the one above it.

    >>> banded([9000, 700, 600, 560, 540, 510, 30, 20, 20, 20, 20, 3])
    [500.0, 500.0, 500.0, 500.0, 500.0, 500.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
    """
    if len(values) < GROUP_USERS_MIN:
        raise ValueError(f"{len(values)} values are not enough for a band")
    places = defaultdict(list)
    for place, value in enumerate(values):
        places[lower_bound(value)].append(place)
    found, waiting = [0.0] * len(values), list[int]()
    last: list[int] = []
    for bound in sorted(places, reverse=True):
        waiting += places[bound]
        if len(waiting) >= GROUP_USERS_MIN:
            last, waiting = waiting, []
            for place in last:
                found[place] = bound
    for place in (*last, *waiting) if waiting else ():
        found[place] = min(places)
    return found
