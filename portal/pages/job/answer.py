"""The first screen of a job in four numbers, and what its suggested request saves.

What was used is what was billed without what was not used, or not measured, of the unrounded hours. Every number is
rounded by itself, as on all other pages: the last digits of rounded ones may not add up.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reports.job_report import EfficiencyView, JobReport, Observation
from reports.numbers import share
from wire.numbers import NOT_MEASURED, gigabytes, hours


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
    numbers = [*_hours(seen)]
    if memory != NOT_MEASURED:
        numbers.append(Observation("Peak GPU memory", memory))
    return Answer(tuple(numbers), _saves(report))


def _hours(seen: EfficiencyView) -> Iterator[Observation]:
    billed, unused, used = seen.gpu_hours, seen.wasted_gpu_hours, seen.used_gpu_hours
    if billed is None or unused is None or used is None:
        if billed is not None:
            yield Observation("Unused GPU-hours", NOT_MEASURED)
        yield Observation("GPU-hours billed", hours(billed))
        return
    yield Observation("Unused GPU-hours", hours(unused))
    yield Observation("Used", hours(used))
    if seen.partial:
        yield Observation("Not measured", hours(seen.unmeasured_gpu_hours))
    yield Observation("Billed", hours(billed))


def _saves(report: JobReport) -> str:
    """What the suggested request saves of the bill that stands beside it."""
    billed, saved = report.efficiency.gpu_hours, report.savings
    if billed is None or saved is None or saved.gpu_hours <= 0:
        return ""
    said = hours(saved.gpu_hours)
    return "" if said == hours(0.0) else f"saves {said} of {hours(billed)} GPU-hours"
