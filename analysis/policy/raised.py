"""One line of the list of flags: whose flag is raised, since when, and for users the rounded sums of the window."""

from __future__ import annotations

from typing import Annotated

import msgspec

from analysis.escalation.rules import Evidence
from analysis.policy.bands import lower_bound
from analysis.policy.figures import Amount, Count, Fraction, Kind, Month
from analysis.site.suppression import rounded

FLAGS_SCHEMA = "policy-flags/1"
LOW_USE = "low_use"
"""The only kind of flag: low use left many GPU-hours unused (`analysis.escalation.rules`)."""


class FlagWindow(msgspec.Struct):
    """What the counted runs of the last days add up to, rounded; jobs and hours are the least of a band."""

    days: Count
    jobs: Count
    gpu_hours: Amount
    unused_gpu_hours: Amount
    low_fraction: Fraction


class FlagLine(msgspec.Struct, kw_only=True):
    """A raised flag. `period` is that of a user's key; `window` is null for projects: windows of two days overlap.

    `raised_on` of a user is at the earliest the first day of the period, so that it joins no keys of two periods.
    """

    period: Month
    kind: Kind
    key: str
    name: str | None = None
    flag: Annotated[str, msgspec.Meta(pattern=f"^{LOW_USE}$")] = LOW_USE
    raised_on: Annotated[str, msgspec.Meta(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    window: FlagWindow | None = None


class FlagList(msgspec.Struct):
    """Every raised flag, projects by name, then users by key."""

    schema: str
    advisory: str
    rows: list[FlagLine]


def shown_window(evidence: Evidence) -> FlagWindow:
    """The rounded sums of one user's window."""
    counted = evidence.counted
    fraction = min(rounded(counted.low_fraction or 0.0, 0.1), 1.0)
    hours, unused = lower_bound(counted.gpu_hours), lower_bound(counted.unused_gpu_hours)
    return FlagWindow(evidence.window_days, round(lower_bound(counted.jobs)), hours, unused, fraction)
