"""The causes that cost most over many runs; each run counts once, under the first of its causes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.findings import Finding, FindingCode
from analysis.ranking import expected_gain


@dataclass(frozen=True)
class CostlyCause:
    """One cause: the runs it came first in, the GPU-hours that fixing it would save, and its latest run."""

    code: FindingCode
    jobs: int
    lost_gpu_hours: float
    latest_pk: int


def costly_causes(first_causes: Iterable[tuple[Finding, float, int]], limit: int) -> list[CostlyCause]:
    """The most costly of (first cause, billed GPU-hours, run), the latest run first; without those that cost nothing.

    >>> tail = Finding(FindingCode.IDLE_TAIL, 0.5, {"idle_fraction": 0.25})
    >>> costly_causes([(tail, 80.0, 7), (tail, 8.0, 5)], 3)
    [CostlyCause(code=<FindingCode.IDLE_TAIL: 'idle_tail'>, jobs=2, lost_gpu_hours=11.0, latest_pk=7)]
    """
    by_code: dict[FindingCode, list[tuple[float, int]]] = defaultdict(list)
    for cause, gpu_hours, pk in first_causes:
        lost_gpu_hours = gpu_hours * expected_gain(cause)
        if lost_gpu_hours > 0:
            by_code[cause.code].append((lost_gpu_hours, pk))
    found = [
        CostlyCause(code, len(runs), sum(hours for hours, _ in runs), runs[0][1]) for code, runs in by_code.items()
    ]
    return sorted(found, key=lambda cause: (-cause.lost_gpu_hours, cause.code))[:limit]
