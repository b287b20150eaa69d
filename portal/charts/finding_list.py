"""The findings of a period as people read them: title, jobs, wasted hours, and how often in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.findings import FindingCode
from analysis.history.periods import Period
from analysis.history.sums import FrequentFinding
from portal.charts.columns import Column, columns
from portal.charts.history import step_name
from reports.numbers import counted
from reports.wording import TITLES


@dataclass(frozen=True)
class ListedFinding:
    """One finding; `counts` are (step, jobs), the same numbers that `columns` draw."""

    code: str
    title: str
    jobs: int
    wasted_gpu_hours: float
    columns: tuple[Column, ...]
    counts: tuple[tuple[str, int], ...]


def finding_list(found: Sequence[FrequentFinding], period: Period) -> list[ListedFinding]:
    """All on one scale, so that their columns can be compared."""
    steps = period.steps()
    names = [step_name(step, period.step) for step in steps]
    top = max((count for row in found for count in row.by_step.values()), default=1)
    listed = []
    for row in found:
        counts = [row.by_step.get(step, 0) for step in steps]
        texts = [f"{name}: {counted(count, 'job')}" for name, count in zip(names, counts, strict=True)]
        drawn = columns([[("finding", float(count))] for count in counts], texts, float(top))
        told = tuple((name, count) for name, count in zip(names, counts, strict=True) if count)
        title = TITLES[FindingCode(row.code)]
        listed.append(ListedFinding(row.code, title, row.jobs, row.wasted_gpu_hours, drawn, told))
    return listed
