"""The causes that cost most over many runs; each run counts once, under the first of its causes."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from analysis.comparable import known_sum
from analysis.findings import Finding, FindingCode
from analysis.ranking import expected_gain


@dataclass(frozen=True)
class FirstCause:
    """The first cause of one run and the work that the run belongs to; unused hours are None where not measured."""

    cause: Finding
    work: str
    gpu_hours: float
    pk: int
    ended_at: datetime
    wasted_gpu_hours: float | None = None


@dataclass(frozen=True)
class CostlyCause:
    """One cause in one work: the runs it came first in, the GPU-hours that fixing it would win back, the latest run.

    `wasted_gpu_hours` are all that these runs left unused, as far as it was measured; None for not at all.
    """

    code: FindingCode
    work: str
    jobs: int
    lost_gpu_hours: float
    latest_pk: int
    latest_at: datetime
    wasted_gpu_hours: float | None = None


def costly_causes(first_causes: Iterable[FirstCause]) -> list[CostlyCause]:
    """The most costly first, of first causes that come latest run first; those that cost nothing are left out.

    >>> from datetime import UTC
    >>> tail, at = Finding(FindingCode.IDLE_TAIL, 0.5, {"idle_fraction": 0.25}), datetime(2026, 11, 20, tzinfo=UTC)
    >>> (found,) = costly_causes([FirstCause(tail, "key", 80.0, 7, at), FirstCause(tail, "key", 8.0, 5, at)])
    >>> found.code.value, found.jobs, found.lost_gpu_hours, found.latest_pk
    ('idle_tail', 2, 11.0, 7)
    """
    together: dict[tuple[str, FindingCode], list[tuple[float, FirstCause]]] = defaultdict(list)
    for first in first_causes:
        lost_gpu_hours = first.gpu_hours * expected_gain(first.cause)
        if lost_gpu_hours > 0:
            together[first.work, first.cause.code].append((lost_gpu_hours, first))
    found = [
        CostlyCause(
            code,
            work,
            len(runs),
            sum(lost for lost, _ in runs),
            runs[0][1].pk,
            runs[0][1].ended_at,
            known_sum(first.wasted_gpu_hours for _, first in runs),
        )
        for (work, code), runs in together.items()
    ]
    return sorted(found, key=lambda cause: (-cause.lost_gpu_hours, cause.code, cause.work))
