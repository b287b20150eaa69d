"""GPU-hours that are allocated to a project, as directories write them, and how much of them is used; pure.

A GPU-hour is LUMI's: one whole MI250X module for one hour (`jobs.billing`). Only LUMI counts what a project has used:
Kaiku knows the jobs that were reported to it, which may be fewer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

# In the first tenth of the time a few large jobs would decide the forecast.
PACE_TIME_FRACTION_MIN = 0.1
# Use is bursty: hours within a tenth of the share of the time count as even.
PACE_EVEN = 0.1


class AllocationFormatError(ValueError):
    """The value is not an allocation; the message names the part that is wrong."""


@dataclass(frozen=True)
class AllocatedHours:
    """GPU-hours allocated to a project; those used and the first and last day where the directory states them."""

    gpu_hours: float
    used_gpu_hours: float | None = None
    begins_on: date | None = None
    ends_on: date | None = None


@dataclass(frozen=True)
class Pace:
    """The used part of an allocation and of its time, as fractions; `runs_out_on` is a linear forecast."""

    used_fraction: float
    time_fraction: float
    runs_out_on: date | None

    @property
    def word(self) -> str:
        """`faster`, `slower` or `even`; empty while it is too early to tell."""
        if self.time_fraction < PACE_TIME_FRACTION_MIN:
            return ""
        ahead = self.used_fraction - self.time_fraction
        return "even" if abs(ahead) <= PACE_EVEN else "faster" if ahead > 0 else "slower"


def pace_of(hours: AllocatedHours, today: date) -> Pace | None:
    """Use against time; None where hours, use or period are not known, and outside the period.

    >>> pace = pace_of(AllocatedHours(1000, 750, date(2026, 1, 1), date(2026, 12, 31)), date(2026, 7, 2))
    >>> pace.used_fraction, round(pace.time_fraction, 3), pace.word, pace.runs_out_on
    (0.75, 0.5, 'faster', datetime.date(2026, 8, 31))
    """
    begins_on, ends_on = hours.begins_on, hours.ends_on
    if not hours.gpu_hours or hours.used_gpu_hours is None or begins_on is None or ends_on is None:
        return None
    if not begins_on <= today <= ends_on or begins_on == ends_on:
        return None
    used, gone = hours.used_gpu_hours / hours.gpu_hours, (today - begins_on) / (ends_on - begins_on)
    until_all_used = (today - begins_on) / used if 0 < used < 1 and used > gone else None
    return Pace(used, gone, begins_on + until_all_used if until_all_used else None)


def of_project_file(about: Mapping[str, Any]) -> AllocatedHours | None:
    """`billing.gpu_hours.{alloc,used}` of one of LUMI's project files, `open_date` and `end_date` where it has them.

    None when the file has no GPU-hours. `end_date` is when computing ends (lumi-tools, "Data in the project
    information files").

    >>> of_project_file({"billing": {"gpu_hours": {"alloc": 1000, "used": 500}}, "end_date": "20261031050000Z"})
    AllocatedHours(gpu_hours=1000.0, used_gpu_hours=500.0, begins_on=None, ends_on=datetime.date(2026, 10, 31))
    """
    billing = about.get("billing")
    hours = billing.get("gpu_hours") if isinstance(billing, Mapping) else None
    if not isinstance(hours, Mapping):
        return None
    return AllocatedHours(
        gpu_hours=_hours(hours.get("alloc"), "alloc"),
        used_gpu_hours=None if hours.get("used") is None else _hours(hours["used"], "used"),
        begins_on=_day(about.get("open_date"), "open_date"),
        ends_on=_day(about.get("end_date"), "end_date"),
    )


def of_waldur_resource(resource: Mapping[str, Any]) -> AllocatedHours | None:
    """`limits.gpu_hours` of a Waldur resource until its `end_date`; None when its offering has no such component.

    The name of the component is LUMI's in Puhuri (waldur-mastermind, import_reppu_usages). Waldur's figures of use are
    per month and wait for reports, so they are not used.
    """
    limits = resource.get("limits")
    if not isinstance(limits, Mapping) or limits.get("gpu_hours") is None:
        return None
    return AllocatedHours(
        gpu_hours=_hours(limits["gpu_hours"], "limits.gpu_hours"),
        ends_on=_day(resource.get("end_date"), "end_date"),
    )


def of_csv_cells(cells: Mapping[str, str]) -> AllocatedHours:
    """The columns `gpu_hours, used_gpu_hours, begins_on, ends_on`, the last three optional; days as YYYY-MM-DD."""
    return AllocatedHours(
        gpu_hours=_hours(cells["gpu_hours"], "gpu_hours"),
        used_gpu_hours=_hours(cells["used_gpu_hours"], "used_gpu_hours") if cells["used_gpu_hours"] else None,
        begins_on=_day(cells["begins_on"], "begins_on"),
        ends_on=_day(cells["ends_on"], "ends_on"),
    )


def _hours(value: object, name: str) -> float:
    try:
        hours = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        hours = math.nan
    if not (math.isfinite(hours) and hours >= 0):
        raise AllocationFormatError(f"{name} {str(value)[:40]!r} is not a number of GPU-hours")
    return hours


def _day(value: object, name: str) -> date | None:
    """A day of a directory, `20261031050000Z` or `2026-10-31…`; None when it is empty."""
    if value in (None, ""):
        return None
    text = str(value)
    try:
        if text.endswith("Z") and text[:-1].isdecimal():
            return datetime.strptime(text, "%Y%m%d%H%M%SZ").date()
        return date.fromisoformat(text[:10])
    except ValueError:
        raise AllocationFormatError(f"{name} {text[:40]!r} is not a date") from None
