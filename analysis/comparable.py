"""What the user's own comparable runs show: how long they took, and what more GPUs gained.

Comparable is the same work of the same user in the same project and cluster (`jobs.work_key`), run to its end in five
minutes or more; measured time overrides an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from analysis.thresholds import LIMITS, Limits

SAME_WORK_MAX = 1.5
"""More speed per GPU than this against the smallest number is not explained by data that fit better into more memory:
the runs did different work."""

NOISY_FACTOR = 2.0
"""Doubling the GPUs halves the time at best: runs that differ by more on the same GPUs say little of scaling."""
RUNS_MIN = 2
"""One run on another number of GPUs may have had another input: a saving is stated from two on."""


@dataclass(frozen=True)
class ComparableRun:
    """One earlier completed run of the same work; `host_peak_gb` is of its fullest node, `busy_cores` of all its nodes.

    None where that was not measured, or not read.
    """

    gpus: int
    elapsed_s: float
    host_peak_gb: float | None = None
    busy_cores: float | None = None


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


def most_busy_cores(gpus: int, past: Sequence[ComparableRun]) -> float:
    """The most cores that any comparable run on as many GPUs kept busy; 0 where none is known.

    >>> most_busy_cores(8, [ComparableRun(8, 60.0, None, 17.4), ComparableRun(2, 9.0, None, 40.0)])
    17.4
    """
    return max((run.busy_cores for run in past if run.gpus == gpus and run.busy_cores is not None), default=0.0)


def limit_with_headroom_s(run_s: float, limits: Limits = LIMITS) -> float:
    """The time limit that a run of this length needs, in whole quarters of an hour.

    >>> limit_with_headroom_s(10_800.0)
    13500.0
    """
    return math.ceil(limits.headroom_factor * run_s / limits.walltime_step_s) * limits.walltime_step_s


def scaling_gpus(
    elapsed_s: float, gpus: int, past: Sequence[ComparableRun], limits: Limits = LIMITS
) -> tuple[int, float] | None:
    """The most GPUs that still scale, and how long a run on them took; None where all runs had the same number, or did
    different work.

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
    if max(kept.values()) > SAME_WORK_MAX:
        return None
    most = max(count for count in typical_s if kept[count] >= limits.target_percent / 100)
    return most, typical_s[most]


def doubts(elapsed_s: float, gpus: int, past: Sequence[ComparableRun], fewer_gpus: int) -> dict[str, int]:
    """What to know before a saving is stated from the runs on `fewer_gpus`, as evidence of the advice.

    How many `own_runs` there are, whether runs on one number of GPUs differ too much (`is_noisy`), and whether this run
    took so much longer on more GPUs that it had another input (`is_longer`).

    >>> doubts(3000.0, 8, [ComparableRun(2, 4000.0), ComparableRun(2, 4100.0)], 2)
    {'own_runs': 2, 'is_noisy': 0, 'is_longer': 0}
    """
    typical_s = typical_times_s(past).get(fewer_gpus, 0.0)
    return {
        "own_runs": sum(run.gpus == fewer_gpus and run.elapsed_s > 0 for run in past),
        "is_noisy": int(is_noisy([ComparableRun(gpus, elapsed_s), *past])),
        "is_longer": int(elapsed_s > NOISY_FACTOR * typical_s),
    }


def is_hint(evidence: Mapping[str, Any]) -> bool:
    """Whether advice from the user's own runs is only a hint, for which no saving is stated.

    Other advice, and advice that was stored before its doubts were, is none.

    >>> is_hint({"own_runs": 1, "is_noisy": 0, "is_longer": 0}), is_hint({"active_gpus": 2})
    (True, False)
    """
    few = evidence.get("own_runs", RUNS_MIN) < RUNS_MIN
    return bool(few or evidence.get("is_noisy") or evidence.get("is_longer"))


def is_noisy(runs: Iterable[ComparableRun]) -> bool:
    """Whether runs on one number of GPUs differ by more than `NOISY_FACTOR`, so that they had different inputs.

    >>> is_noisy([ComparableRun(4, 1000.0), ComparableRun(4, 2000.0), ComparableRun(8, 2001.0)])
    False
    >>> is_noisy([ComparableRun(4, 1000.0), ComparableRun(4, 2001.0)])
    True
    """
    times_s = _times_s(runs).values()
    return any(max(times) > NOISY_FACTOR * min(times) for times in times_s)


def typical_times_s(runs: Iterable[ComparableRun]) -> dict[int, float]:
    """The median run time by number of GPUs; of an even number of runs the mean of the middle two.

    >>> typical_times_s([ComparableRun(4, 1000.0), ComparableRun(4, 3000.0), ComparableRun(2, 4000.0)])
    {4: 2000.0, 2: 4000.0}
    """
    return {count: median(times) for count, times in _times_s(runs).items()}


def _times_s(runs: Iterable[ComparableRun]) -> dict[int, list[float]]:
    """Every run time by number of GPUs; runs without GPUs or without length count for nothing."""
    times_s: dict[int, list[float]] = {}
    for run in runs:
        if run.gpus > 0 and run.elapsed_s > 0:
            times_s.setdefault(run.gpus, []).append(run.elapsed_s)
    return times_s


def speed_kept(typical_s: Mapping[int, float]) -> dict[int, float]:
    """How much of the speed per GPU of the smallest number each number of GPUs keeps; more than 1 is possible.

    >>> speed_kept({2: 4000.0, 8: 2000.0})
    {2: 1.0, 8: 0.5}
    """
    fewest = min(typical_s, default=0)
    return {count: fewest * typical_s[fewest] / (count * time_s) for count, time_s in typical_s.items()}
