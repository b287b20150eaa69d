"""This month's GPU-hours in one line: how many, how many of them unused, and how that changed since last month."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.history.overview import Overview
from analysis.history.periods import Period
from analysis.history.run_sums import Days
from analysis.history.sums import overview_of
from analysis.outcomes.selectors import SavedSum


@dataclass(frozen=True)
class MonthLine:
    """`change_points` is the change of the unused share in percentage points; None where a month has no hours.

    Advice is seldom followed within one month: `saved` is over everything that is stored.
    """

    name: str
    name_before: str
    sum: Overview
    change_points: float | None
    saved: SavedSum

    @property
    def points(self) -> int:
        """The size of the change in whole points."""
        return round(abs(self.change_points or 0.0))

    @property
    def is_less(self) -> bool:
        return (self.change_points or 0.0) < 0


def month_line(runs: Days, this: Period, before: Period, saved: SavedSum) -> MonthLine:
    """The present month beside the last, from days that reach back over both."""
    now, then = overview_of(runs, this), overview_of(runs, before)
    share, share_before = now.wasted_fraction, then.wasted_fraction
    change = None if share is None or share_before is None else (share - share_before) * 100
    return MonthLine(f"{this.start:%B}", f"{before.start:%B}", now, change, saved)
