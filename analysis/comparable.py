"""What the user's own comparable runs show: how long they took, and what more GPUs gained.

Comparable is the same work of the same user in the same project and cluster (`jobs.work_key`), run to its end in five
minutes or more; measured time overrides an estimate.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from analysis.thresholds import LIMITS, Limits

SAME_WORK_MAX = 1.5
"""More speed per GPU than this against the smallest number is not explained by data that fit better into more memory:
the runs did different work."""

NOISY_FACTOR = 2.0
"""Doubling the GPUs halves the time at best: runs that differ by more on the same GPUs say little of scaling."""
RUNS_MIN = 2
"""One run on another number of GPUs may have had another input: a saving is stated from two on."""


SAME_RATE_MAX = 1.2
"""Throughput of more GPUs below so many times that of the fewest did not grow with them."""


@dataclass(frozen=True)
class Throughput:
    """What a run did a second, on all its GPUs, as its script logged it."""

    unit: str
    per_s: float


class Measured(NamedTuple):
    """What counts of one run for how its work scales: the run time of one that ended well, its throughput, or both."""

    gpus: int
    run_s: float | None
    throughput: Throughput | None


@dataclass(frozen=True)
class ComparableRun:
    """One earlier run of the same work; `host_peak_gb` is of its fullest node, `busy_cores` of all its nodes.

    None where that was not measured, or not read. `is_cut`: its time limit ended it, so that its throughput counts and
    its run time does not.
    """

    gpus: int
    elapsed_s: float
    host_peak_gb: float | None = None
    busy_cores: float | None = None
    throughput: Throughput | None = None
    is_cut: bool = False


def by_throughput(measured: Sequence[Measured]) -> str:
    """The unit whose throughput shows how runs scale, empty where their run times have to.

    It must be known on two numbers of GPUs, and on each whose run times are known: then it is measured, and holds for
    runs that did more or less work too. A throughput that stays the same on more GPUs while their runs were shorter is
    that of one process, whatever its unit.
    """
    timed = {run.gpus for run in measured if run.run_s is not None}
    for unit in sorted({run.throughput.unit for run in measured if run.throughput}):
        known = [run for run in measured if run.throughput and run.throughput.unit == unit]
        sizes = {run.gpus for run in known}
        if len(sizes) > 1 and sizes >= timed and not _is_of_one_process(known):
            return unit
    return ""


def _is_of_one_process(known: Sequence[Measured]) -> bool:
    fewest, most = min(run.gpus for run in known), max(run.gpus for run in known)
    ends = [[run for run in known if run.gpus == gpus] for gpus in (fewest, most)]
    few_s, many_s = ([run.run_s for run in runs if run.run_s] for runs in ends)
    few, many = (median(run.throughput.per_s for run in runs if run.throughput) for runs in ends)
    return bool(few_s and many_s and many < SAME_RATE_MAX * few and median(few_s) > NOISY_FACTOR * median(many_s))


def longest_run_s(elapsed_s: float, gpus: int, past: Sequence[ComparableRun]) -> float:
    """The longest of this run and the comparable ones on as many GPUs.

    >>> longest_run_s(3600.0, 8, [ComparableRun(8, 5400.0), ComparableRun(2, 9000.0)])
    5400.0
    """
    return max([elapsed_s, *(run.elapsed_s for run in past if run.gpus == gpus and not run.is_cut)])


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


@dataclass(frozen=True)
class OwnScaling:
    """The most GPUs that still scale, and how long this work takes on them; `runs` are the runs that are compared.

    With a `unit` they are compared by measured throughput, and the time is that of this run's work at that speed.
    """

    gpus: int
    run_s: float
    runs: tuple[ComparableRun, ...]
    unit: str = ""


def own_scaling(this: ComparableRun, past: Sequence[ComparableRun], limits: Limits = LIMITS) -> OwnScaling | None:
    """The most GPUs that still scale; None where all runs had the same number, or did different work.

    A number scales while it keeps `target_percent` of the speed per GPU of the smallest number that was tried. Of
    several runs on one number the median counts. Measured throughput counts before run times.

    >>> found = own_scaling(ComparableRun(8, 3000.0), [ComparableRun(2, 4000.0), ComparableRun(4, 2600.0)])
    >>> found.gpus, found.run_s
    (4, 2600.0)
    """
    if this.elapsed_s <= 0:
        return None
    everyone = [run for run in (this, *past) if run.gpus > 0 and run.elapsed_s > 0]
    unit = by_throughput(
        [Measured(run.gpus, None if run.is_cut else run.elapsed_s, run.throughput) for run in everyone]
    )
    if unit and (this.throughput is None or this.throughput.unit != unit):
        unit = ""
    compared = tuple(_seconds_a_unit(everyone, unit)) if unit else (this, *past)
    typical_s = typical_times_s(compared)
    if len(typical_s) < 2:
        return None
    kept = speed_kept(typical_s)
    if max(kept.values()) > SAME_WORK_MAX:
        return None
    most = max(count for count in typical_s if kept[count] >= limits.target_percent / 100)
    run_s = typical_s[most] * (this.elapsed_s * this.throughput.per_s if unit and this.throughput else 1.0)
    return OwnScaling(most, run_s, compared[1:], unit)


def _seconds_a_unit(runs: Iterable[ComparableRun], unit: str) -> Iterator[ComparableRun]:
    """The same runs with the time that one of `unit` took each, those without it left out."""
    for run in runs:
        if run.throughput is not None and run.throughput.unit == unit:
            yield ComparableRun(run.gpus, 1 / run.throughput.per_s)


def doubts(this: ComparableRun, found: OwnScaling) -> dict[str, int]:
    """What to know before a saving is stated from the runs on fewer GPUs, as evidence of the advice.

    How many `own_runs` there are, whether runs on one number of GPUs differ too much (`is_noisy`), and whether this run
    took so much longer on more GPUs that it had another input (`is_longer`); throughput does not depend on that.

    >>> this, past = ComparableRun(8, 3000.0), (ComparableRun(2, 4000.0), ComparableRun(2, 4100.0))
    >>> doubts(this, own_scaling(this, past))
    {'own_runs': 2, 'is_noisy': 0, 'is_longer': 0}
    """
    runs = [run for run in found.runs if not run.is_cut]
    own = [this] if not found.unit else []
    return {
        "own_runs": sum(run.gpus == found.gpus and run.elapsed_s > 0 for run in runs),
        "is_noisy": int(is_noisy([*own, *runs])),
        "is_longer": int(not found.unit and this.elapsed_s > NOISY_FACTOR * found.run_s),
    }


def is_hint(evidence: Mapping[str, Any]) -> bool:
    """Whether advice from the user's own runs is only a hint, for which no saving is stated.

    Other advice is none.

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
        if run.gpus > 0 and run.elapsed_s > 0 and not run.is_cut:
            times_s.setdefault(run.gpus, []).append(run.elapsed_s)
    return times_s


def speed_kept(typical_s: Mapping[int, float]) -> dict[int, float]:
    """How much of the speed per GPU of the smallest number each number of GPUs keeps; more than 1 is possible.

    >>> speed_kept({2: 4000.0, 8: 2000.0})
    {2: 1.0, 8: 0.5}
    """
    fewest = min(typical_s, default=0)
    return {count: fewest * typical_s[fewest] / (count * time_s) for count, time_s in typical_s.items()}


def known_sum(values: Iterable[float | None]) -> float | None:
    """The sum of the known ones; None where none is.

    >>> known_sum([1.0, None, 4.0]), known_sum([None])
    (5.0, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of the known ones; None where none is.

    >>> known_median([1.0, None, 4.0]), known_median([None])
    (2.5, None)
    """
    known = [value for value in values if value is not None]
    return median(known) if known else None
