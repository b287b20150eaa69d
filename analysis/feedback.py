"""The rule of every sum over people: how many they are at least, and how much of it one of them may be."""

from collections.abc import Sequence

GROUP_USERS_MIN = 5
USER_FRACTION_MAX = 0.85
"""Sums are shown for at least this many people, none with more than this share (domain, section 8)."""


def is_anonymous(parts: Sequence[float]) -> bool:
    """Whether a sum of one part for each person hides every single person.

    >>> is_anonymous([1, 1, 1, 1, 1]), is_anonymous([1, 1, 1, 1]), is_anonymous([96, 1, 1, 1, 1])
    (True, False, False)
    """
    return len(parts) >= GROUP_USERS_MIN and max(parts) <= USER_FRACTION_MAX * sum(parts)
