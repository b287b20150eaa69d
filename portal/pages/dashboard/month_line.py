"""This month's GPU-hours in one line: how many, how many of them unused, and how that changed since last month."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.history.columns import RunColumns
from analysis.history.overview import Followed, Overview
from analysis.history.periods import Period
from analysis.history.sums import overview_of


@dataclass(frozen=True)
class MonthLine:
    """`change_points` is the change of the unused share in percentage points; None where a month has no hours.

    Advice is seldom followed within one month: `followed` is over a period of its own.
    """

    name: str
    name_before: str
    sum: Overview
    change_points: float | None
    followed: Followed

    @property
    def points(self) -> int:
        """The size of the change in whole points."""
        return round(abs(self.change_points or 0.0))

    @property
    def is_less(self) -> bool:
        return (self.change_points or 0.0) < 0


def month_line(runs: RunColumns, this: Period, before: Period, followed: Followed) -> MonthLine:
    """The present month beside the last, from runs that reach back over both."""
    now, then = overview_of(runs, this), overview_of(runs, before)
    share, share_before = now.wasted_fraction, then.wasted_fraction
    change = None if share is None or share_before is None else (share - share_before) * 100
    return MonthLine(f"{this.start:%B}", f"{before.start:%B}", now, change, followed)
