"""What the user's own comparable runs show: how long they took, and what more GPUs gained.

Comparable is the same work of the same user in the same project and cluster (`jobs.works`), run to its end in five
minutes or more; measured time overrides an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from analysis.thresholds import LIMITS, Limits


@dataclass(frozen=True)
class ComparableRun:
    """One earlier completed run of the same work; `host_peak_gb` is of its fullest node, None where not measured."""

    gpus: int
    elapsed_s: float
    host_peak_gb: float | None = None


def longest_run_s(elapsed_s: float, gpus: int, past: Sequence[ComparableRun]) -> float:
    """The longest of this run and the comparable ones on as many GPUs.

    >>> longest_run_s(3600.0, 8, [ComparableRun(8, 5400.0), ComparableRun(2, 9000.0)])
    5400.0
    """
    return max([elapsed_s, *(run.elapsed_s for run in past if run.gpus == gpus)])


def highest_host_peak_gb(gpus: int, past: Sequence[ComparableRun]) -> float:
    """Host memory of the fullest node of any comparable run on as many GPUs; 0 where none was measured.

    >>> highest_host_peak_gb(8, [ComparableRun(8, 5400.0, 90.5), ComparableRun(8, 60.0), ComparableRun(2, 60.0, 99.0)])
    90.5
    """
    return max((run.host_peak_gb for run in past if run.gpus == gpus and run.host_peak_gb is not None), default=0.0)


def scaling_gpus(
    elapsed_s: float, gpus: int, past: Sequence[ComparableRun], limits: Limits = LIMITS
) -> tuple[int, float] | None:
    """The most GPUs that still scale, and how long a run on them took; None where all runs had the same number.

    A number scales while it keeps `target_percent` of the speed per GPU of the smallest number that was tried. Of
    several runs on one number the median counts.

    >>> scaling_gpus(3000.0, 8, [ComparableRun(2, 4000.0), ComparableRun(4, 2600.0)])
    (4, 2600.0)
    """
    if elapsed_s <= 0:
        return None
    typical_s = typical_times_s([ComparableRun(gpus, elapsed_s), *past])
    if len(typical_s) < 2:
        return None
    kept = speed_kept(typical_s)
    most = max(count for count in typical_s if kept[count] >= limits.target_percent / 100)
    return most, typical_s[most]


def typical_times_s(runs: Iterable[ComparableRun]) -> dict[int, float]:
    """The median run time by number of GPUs; of an even number of runs the longer of the middle two.

    >>> typical_times_s([ComparableRun(4, 1000.0), ComparableRun(4, 3000.0), ComparableRun(2, 4000.0)])
    {4: 3000.0, 2: 4000.0}
    """
    times_s: dict[int, list[float]] = {}
    for run in runs:
        if run.gpus > 0 and run.elapsed_s > 0:
            times_s.setdefault(run.gpus, []).append(run.elapsed_s)
    return {count: sorted(times)[len(times) // 2] for count, times in times_s.items()}


def speed_kept(typical_s: Mapping[int, float]) -> dict[int, float]:
    """How much of the speed per GPU of the smallest number each number of GPUs keeps; more than 1 is possible.

    >>> speed_kept({2: 4000.0, 8: 2000.0})
    {2: 1.0, 8: 0.5}
    """
    fewest = min(typical_s, default=0)
    return {count: fewest * typical_s[fewest] / (count * time_s) for count, time_s in typical_s.items()}
