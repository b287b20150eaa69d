"""The first screen of a job in four numbers, and what its suggested request saves.

All hours are rounded alike, so that what was used and what was not add up to what was billed.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.job_report import JobReport, Observation
from reports.numbers import NOT_MEASURED, gigabytes, hours, share

FEW_HOURS = 10.0
"""From this bill on a tenth of a GPU-hour is as fine as people read."""


@dataclass(frozen=True)
class Answer:
    """`saves` is empty where the advice saves no hours, or no price is known."""

    numbers: tuple[Observation, ...]
    saves: str


def answer(report: JobReport) -> Answer:
    """What the page says of a report before anything else."""
    seen = report.efficiency
    memory = (
        gigabytes(seen.peak_gpu_mem_gb) if seen.peak_gpu_mem_fraction is None else share(seen.peak_gpu_mem_fraction)
    )
    numbers = [*_hours(seen.gpu_hours, seen.wasted_gpu_hours)]
    if memory != NOT_MEASURED:
        numbers.append(Observation("Peak GPU memory", memory))
    return Answer(tuple(numbers), _saves(report))


def _hours(billed: float | None, unused: float | None) -> tuple[Observation, ...]:
    if billed is None:
        return (Observation("GPU-hours billed", hours(None)),)
    digits = _digits(billed)
    if unused is None:
        unknown = Observation("Unused GPU-hours", NOT_MEASURED)
        return unknown, Observation("GPU-hours billed", _number(billed, digits))
    return (
        Observation("Unused GPU-hours", _number(unused, digits)),
        Observation("Used", _number(round(billed, digits) - round(unused, digits), digits)),
        Observation("Billed", _number(billed, digits)),
    )


def _saves(report: JobReport) -> str:
    """What the suggested request saves of the bill that stands beside it."""
    billed, saved = report.efficiency.gpu_hours, report.savings
    if billed is None or saved is None or saved.gpu_hours <= 0:
        return ""
    digits = _digits(billed)
    if not round(saved.gpu_hours, digits):
        return ""
    return f"saves {_number(saved.gpu_hours, digits)} of {_number(billed, digits)} GPU-hours"


def _digits(billed: float) -> int:
    return 2 if billed < FEW_HOURS else 1


def _number(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"
