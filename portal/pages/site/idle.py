"""Idle GPU-hours of a month that others waited for, as the Site page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.site.idle import IdleHours
from portal.charts.site_claims import number
from portal.charts.withheld import WITHHELD_WORDS


@dataclass(frozen=True)
class IdlePart:
    """The two sums in words; empty where they are withheld. `has_zero`: one is a 0 of which no step is known."""

    withheld: str
    wanted: str = ""
    unwanted: str = ""
    has_zero: bool = False


def idle_part(idle: IdleHours | None) -> IdlePart | None:
    """None where it is not known of every job of the month."""
    if idle is None:
        return None
    if idle.withheld:
        return IdlePart(WITHHELD_WORDS[idle.withheld])
    wanted, unwanted = (_hours(value, idle.step) for value in (idle.wanted, idle.unwanted))
    return IdlePart("", wanted, unwanted, idle.step is None and not (idle.wanted and idle.unwanted))


def _hours(value: float | None, step: float | None) -> str:
    """Rounded hours; what was rounded to 0 is at most half a step, and nothing states whether it is nothing at all.

    >>> _hours(40.0, 20.0), _hours(0.0, 20.0), _hours(0.0, None)
    ('40', 'less than\\xa020', '0')
    """
    return number(value) if value or step is None else f"less than\u00a0{number(step)}"
