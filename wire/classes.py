"""The classes of GPU use: their names, as people read them, and the mean use from which each one begins.

Whatever names a bound reads it here: the judgement, pages, mails, figures, exports and `kaiku`.
"""

from __future__ import annotations

FROM_PERCENT = {"EFFICIENT": 70.0, "ACCEPTABLE": 40.0, "INEFFICIENT": 15.0, "WASTED": 0.0}
"""The lowest mean busy percent of each class, unrounded; the best class first. Source: Kaiku's domain definitions,
section 2 (2026-11)."""

UNKNOWN = "UNKNOWN"
"""Use that was not measured, or is not judged; it is in none of the classes above."""

CLASS_NAMES = {name: name.capitalize() for name in (*FROM_PERCENT, UNKNOWN)}
BOUNDS_PERCENT = tuple(sorted(FROM_PERCENT.values()))[1:]


def class_of(use_percent: float) -> str:
    """The class of a mean busy percent.

    >>> class_of(14.96), class_of(15.0), class_of(100.0)
    ('WASTED', 'INEFFICIENT', 'EFFICIENT')
    """
    return next((name for name, low in FROM_PERCENT.items() if use_percent >= low), "WASTED")


def bands() -> dict[str, str]:
    """The use in each class, in percent.

    >>> bands()["ACCEPTABLE"]
    '40-70'
    """
    ends = (100.0, *FROM_PERCENT.values())
    return {name: f"{low:g}-{end:g}" for (name, low), end in zip(FROM_PERCENT.items(), ends)}


def in_words() -> str:
    """What the classes mean, within a sentence.

    >>> in_words()
    'Efficient from 70 %, Acceptable from 40 %, Inefficient from 15 %, Wasted below'
    """
    named = [(CLASS_NAMES[name], low) for name, low in FROM_PERCENT.items()]
    return ", ".join(f"{name} from {low:g} %" if low else f"{name} below" for name, low in named)
