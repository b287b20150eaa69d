"""The first screen of a job in four numbers, and what its suggested request saves.

What was used is what was billed without what was not used, of the unrounded hours. Every number is rounded by itself,
as on all other pages: the last digits of rounded ones may not add up.
"""

from __future__ import annotations

from dataclasses import dataclass

from reports.job_report import JobReport, Observation
from reports.numbers import NOT_MEASURED, gigabytes, hours, share, used_hours


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
    if unused is None:
        return Observation("Unused GPU-hours", NOT_MEASURED), Observation("GPU-hours billed", hours(billed))
    return (
        Observation("Unused GPU-hours", hours(unused)),
        Observation("Used", hours(used_hours(billed, unused))),
        Observation("Billed", hours(billed)),
    )


def _saves(report: JobReport) -> str:
    """What the suggested request saves of the bill that stands beside it."""
    billed, saved = report.efficiency.gpu_hours, report.savings
    if billed is None or saved is None or saved.gpu_hours <= 0:
        return ""
    said = hours(saved.gpu_hours)
    return "" if said == hours(0.0) else f"saves {said} of {hours(billed)} GPU-hours"
