"""Advisory flags: which sums of the last days raise one, and which clear it. Nothing is read or written here.

A flag is advice: it changes no job and no account. Counted are the runs that every other sum counts
(`JudgedRun.uncounted_reason` is empty) if they were also measured; runs that only their owner reported never are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from fractions import Fraction

import msgspec

from analysis.efficiency import LOW, MEASURED
from analysis.history.run_sums import RunSums

RULES_VERSION = "1"
"""Stored with each flag; to be raised with any change of `step_of` or of what `counted_in` counts."""

PARTS_OF_AN_HOUR = 1_000_000
"""Sums are compared in whole millionths of a GPU-hour, so that adding up floats moves nobody over a threshold."""


@dataclass(frozen=True)
class FlagLimits:
    """The thresholds, with the defaults of Kaiku's definition of a flag; a site changes them by its FLAG_ settings.

    `window_days` are days of the site's calendar, today included. A flag is raised from `raise_fraction` of the
    GPU-hours in Inefficient or Wasted on, and clears below `clear_fraction`; both are fractions 0..1.
    """

    window_days: int = 14
    jobs_min: int = 5
    unused_gpu_hours_min: float = 50.0
    raise_fraction: Fraction = Fraction(1, 2)
    clear_fraction: Fraction = Fraction(1, 3)


DEFAULTS = FlagLimits()


class Counted(msgspec.Struct, frozen=True):
    """What the counted and measured runs of some days add up to; `low_gpu_hours` are those in Inefficient or Wasted.

    `unused_gpu_hours` is an estimate, `saved_gpu_hours` what the advice in their reports would have saved.
    """

    jobs: int = 0
    gpu_hours: float = 0.0
    unused_gpu_hours: float = 0.0
    low_gpu_hours: float = 0.0
    saved_gpu_hours: float = 0.0

    @property
    def low_fraction(self) -> float | None:
        """The part of the GPU-hours in Inefficient or Wasted, 0..1; None without GPU-hours."""
        return self.low_gpu_hours / self.gpu_hours if self.gpu_hours else None


class Evidence(msgspec.Struct, frozen=True):
    """What a flag rests on: the sums of a window of days, the findings by code, and the thresholds at that time.

    `findings` is finding code -> counted runs that have it; fractions are text such as "1/2", which is exact.
    """

    counted: Counted
    first_day: date
    last_day: date
    findings: dict[str, int]
    jobs_min: int
    unused_gpu_hours_min: float
    raise_fraction: str
    clear_fraction: str

    @property
    def window_days(self) -> int:
        """How many days the sums are over."""
        return (self.last_day - self.first_day).days + 1

    @property
    def has_enough_jobs(self) -> bool:
        """Whether its sums are of as many jobs as raise a flag: those of fewer would be a job's figures."""
        return self.counted.jobs >= self.jobs_min


class Step(StrEnum):
    """What to do about one subject."""

    NOTHING = "nothing"
    RAISE = "raise"
    KEEP = "keep"
    CLEAR = "clear"


class Reason(StrEnum):
    """Why a flag cleared."""

    LOW_FRACTION = "low_fraction"
    NO_JOBS = "no_jobs"


def step_of(is_raised: bool, counted: Counted, limits: FlagLimits = DEFAULTS) -> tuple[Step, Reason | None]:
    """What to do about a subject with these sums, and why where its flag clears.

    >>> step_of(False, Counted(5, 100.0, 50.0, 50.0))[0].value, step_of(False, Counted(4, 100.0, 50.0, 50.0))[0].value
    ('raise', 'nothing')
    >>> step_of(True, Counted(5, 300.0, 0.0, 100.0))[0].value, step_of(True, Counted(5, 300.0, 0.0, 99.9))[0].value
    ('keep', 'clear')
    """
    if is_raised:
        # A pause of some jobs clears nothing: the flag would come and go, each time with a new time of grace.
        if not counted.gpu_hours:
            return Step.CLEAR, Reason.NO_JOBS
        return (Step.KEEP, None) if _reaches(counted, limits.clear_fraction) else (Step.CLEAR, Reason.LOW_FRACTION)
    is_much = _parts(counted.unused_gpu_hours) >= _parts(limits.unused_gpu_hours_min)
    is_low = bool(counted.gpu_hours) and _reaches(counted, limits.raise_fraction)
    return (Step.RAISE if counted.jobs >= limits.jobs_min and is_much and is_low else Step.NOTHING), None


def _reaches(counted: Counted, fraction: Fraction) -> bool:
    """Whether at least this fraction of the GPU-hours is low."""
    low, whole = _parts(counted.low_gpu_hours), _parts(counted.gpu_hours)
    return low * fraction.denominator >= whole * fraction.numerator


def _parts(gpu_hours: float) -> int:
    return round(gpu_hours * PARTS_OF_AN_HOUR)


def first_day(today: date, limits: FlagLimits = DEFAULTS) -> date:
    """The first day that counts, today being the last.

    >>> first_day(date(2026, 11, 20))
    datetime.date(2026, 11, 7)
    """
    return today - timedelta(days=limits.window_days - 1)


def counted_in(sums: RunSums) -> Counted:
    """The part of some sums that counts for a flag."""
    measured = [row for name, row in sums.classes.items() if name in MEASURED]
    low = [row for name, row in sums.classes.items() if name in LOW]
    return Counted(
        jobs=sum(row.jobs for row in measured),
        gpu_hours=_added(row.gpu_hours for row in measured),
        unused_gpu_hours=_added(row.wasted_gpu_hours for row in measured),
        low_gpu_hours=_added(row.gpu_hours for row in low),
        saved_gpu_hours=_added(row.saved_gpu_hours for row in measured),
    )


def _added(gpu_hours: Iterable[float]) -> float:
    return round(sum(gpu_hours), 6)


def evidence_of(sums: RunSums, today: date, limits: FlagLimits = DEFAULTS) -> Evidence:
    """The sums of the window that ends with `today`, with the thresholds that they are compared with."""
    return Evidence(
        counted=counted_in(sums),
        first_day=first_day(today, limits),
        last_day=today,
        findings={code: found.jobs for code, found in sorted(sums.findings.items()) if found.jobs},
        jobs_min=limits.jobs_min,
        unused_gpu_hours_min=limits.unused_gpu_hours_min,
        raise_fraction=str(limits.raise_fraction),
        clear_fraction=str(limits.clear_fraction),
    )
