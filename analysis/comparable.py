"""What the user's own comparable runs show: how long they took, and what more GPUs gained.

Comparable is the same work of the same user in the same project and cluster (`jobs.works`), run to its end in five
minutes or more; measured time overrides an estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    times_s: dict[int, list[float]] = {gpus: [elapsed_s]}
    for run in past:
        if run.gpus > 0 and run.elapsed_s > 0:
            times_s.setdefault(run.gpus, []).append(run.elapsed_s)
    if len(times_s) < 2 or elapsed_s <= 0:
        return None
    typical_s = {count: sorted(times)[len(times) // 2] for count, times in times_s.items()}
    fewest = min(typical_s)
    least_gpu_s = fewest * typical_s[fewest]
    scaling = [
        count for count, time_s in typical_s.items() if least_gpu_s / (count * time_s) >= limits.target_percent / 100
    ]
    return max(scaling), typical_s[max(scaling)]
