"""Idle GPU-hours of a month that others waited for, as the Site page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.site.idle import IdleHours
from portal.charts.site_claims import number
from portal.charts.withheld import WITHHELD_WORDS


@dataclass(frozen=True)
class IdlePart:
    """The two sums in words; empty where they are withheld."""

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
    return IdlePart("", number(idle.wanted), number(idle.unwanted), not (idle.wanted and idle.unwanted))
