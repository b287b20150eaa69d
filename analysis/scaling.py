"""How a work scales: run time by number of GPUs, what each number keeps of the speed per GPU, and where that ends.

The target, the medians and what counts as the same work are those of the advice of a report (`analysis.comparable`).
The knee is stricter: the advice takes the most GPUs that keep the target, whatever smaller numbers did, because it must
not shrink a run that itself scales.

Trials (`kaiku trial`) are short runs with less input: they are compared with each other, never with whole runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from statistics import median

from analysis.comparable import (
    SAME_WORK_MAX,
    ComparableRun,
    Measured,
    by_throughput,
    is_noisy,
    known_median,
    speed_kept,
    typical_times_s,
)
from analysis.thresholds import LIMITS, Limits
from analysis.works.runs import PastRun
from jobs.hardware import partition_of


@dataclass(frozen=True)
class GpuCount:
    """The comparable runs on one number of GPUs: their median time, the fastest and the slowest.

    `efficiency_fraction` is against the smallest number, above 1 where more GPUs do more each; None where only one
    number was tried. `gpu_hours` and `avg_gpu_util` are medians of the runs that have them. `per_s` is the median
    throughput that efficiency is of, where the runs are compared by it.
    """

    gpus: int
    runs: int
    typical_s: float
    fastest_s: float
    slowest_s: float
    efficiency_fraction: float | None
    gpu_hours: float | None
    avg_gpu_util: float | None
    per_s: float | None = None


@dataclass(frozen=True)
class Scaling:
    """All numbers of GPUs that were tried, the fewest first, and the runs that do not count.

    `is_trials` says that these are trials, and no whole run. `cut_trials` are those that reached their limit, by
    number of GPUs: (GPUs, runs, median use in percent or None). `unit` is that of the throughput that is compared,
    empty where run times are.

    `knee` is the most GPUs that keep `target_percent`, as all smaller numbers do; None where only one number was tried.
    `too_fast` is the number of GPUs whose runs were so much faster per GPU that they did different work: then there is
    no knee either. `is_noisy` says that runs on the same number differ by more than doubling the GPUs could bring.
    """

    counts: tuple[GpuCount, ...]
    knee: GpuCount | None
    too_fast: GpuCount | None
    is_noisy: bool
    unfinished: int
    too_short: int
    on_other_hardware: int
    is_trials: bool = False
    trials_beside: int = 0
    cut_trials: tuple[tuple[int, int, float | None], ...] = ()
    unit: str = ""

    @property
    def smallest(self) -> GpuCount:
        """The number of GPUs that the others are compared with."""
        return self.counts[0]

    @property
    def is_single(self) -> bool:
        """Whether a number rests on one run alone."""
        return any(count.runs == 1 for count in self.counts)


def scaling(runs: Sequence[PastRun], limits: Limits = LIMITS) -> Scaling:
    """What runs of one work say: those that ended well, on the hardware of the latest of them.

    Trials decide where they cover several numbers of GPUs: they were run to have the same input.
    """
    trials, whole = [run for run in runs if run.is_trial], [run for run in runs if not run.is_trial]
    tried = _scaling(trials, [run for run in trials if run.is_measured_trial], limits)
    has_curve = len(tried.counts) > 1 and tried.too_fast is None
    shown = tried if has_curve else _of_whole_runs(whole, limits)
    beside = 0 if has_curve else len(trials)
    return replace(shown, is_trials=has_curve, trials_beside=beside, cut_trials=_cut_trials(trials))


def knee_run(runs: Sequence[PastRun], scaled: Scaling) -> PastRun | None:
    """The latest trial on as many GPUs as still scale: its request is the one that follows, but for its time limit."""
    if not scaled.is_trials or scaled.knee is None:
        return None
    there = [run for run in runs if run.is_measured_trial and run.gpus == scaled.knee.gpus]
    return max(there, key=lambda run: (run.ended_at, run.pk), default=None)


def _of_whole_runs(runs: Sequence[PastRun], limits: Limits) -> Scaling:
    """By measured throughput where it is known, also of runs that their time limit ended; else by run times."""
    timed = [run for run in runs if run.is_comparable]
    known = [run for run in runs if run.gpus and (run.is_comparable or run.throughput)]
    hardware = _hardware(max(known, key=lambda run: (run.ended_at, run.pk))) if known else None
    unit = by_throughput(
        [
            Measured(run.gpus or 0, run.elapsed_s if run.is_comparable else None, run.throughput)
            for run in known
            if _hardware(run) == hardware
        ]
    )
    measured = [run for run in known if run.throughput and run.throughput.unit == unit]
    return _scaling(runs, measured, limits, unit) if unit else _scaling(runs, timed, limits)


def _compared(run: PastRun, unit: str) -> ComparableRun:
    """A run as it is compared: by the seconds that it took, for everything or for one of `unit`."""
    return ComparableRun(run.gpus or 0, 1 / run.throughput.per_s if unit and run.throughput else run.elapsed_s or 0.0)


def _scaling(runs: Sequence[PastRun], comparable: Sequence[PastRun], limits: Limits, unit: str = "") -> Scaling:
    unfinished = sum(not run.is_completed for run in runs) - sum(not run.is_completed for run in comparable)
    hardware = _hardware(max(comparable, key=lambda run: (run.ended_at, run.pk))) if comparable else None
    counted = [run for run in comparable if _hardware(run) == hardware]
    times = [_compared(run, unit) for run in counted]
    typical_s = typical_times_s(times)
    kept = speed_kept(typical_s) if len(typical_s) > 1 else {}
    counts = tuple(
        _count(gpus, [run for run in counted if run.gpus == gpus], kept.get(gpus), unit) for gpus in sorted(typical_s)
    )
    fastest = max(counts, key=lambda count: kept[count.gpus]) if kept else None
    too_fast = fastest if fastest and kept[fastest.gpus] > SAME_WORK_MAX else None
    knee = None if too_fast else _knee_gpus(kept, limits)
    return Scaling(
        counts=counts,
        knee=next((count for count in counts if count.gpus == knee), None),
        too_fast=too_fast,
        is_noisy=len(counts) > 1 and is_noisy(times),
        unfinished=unfinished,
        too_short=len(runs) - unfinished - len(comparable),
        on_other_hardware=len(comparable) - len(counted),
        unit=unit,
    )


def _cut_trials(trials: Sequence[PastRun]) -> tuple[tuple[int, int, float | None], ...]:
    cut = [run for run in trials if run.is_cut_trial and run.gpus]
    use: dict[int, list[float | None]] = {}
    for run in cut:
        use.setdefault(run.gpus or 0, []).append(run.avg_gpu_util)
    return tuple((gpus, len(found), known_median(found)) for gpus, found in sorted(use.items()))


def _knee_gpus(kept: Mapping[int, float], limits: Limits) -> int | None:
    """The largest number of GPUs that keeps the target as all smaller ones do; None without numbers.

    >>> _knee_gpus({1: 1.0, 2: 0.9, 4: 0.5, 8: 0.8}, LIMITS)
    2
    """
    scales = takewhile(lambda gpus: kept[gpus] >= limits.target_percent / 100, sorted(kept))
    return max(scales, default=None)


def _hardware(run: PastRun) -> tuple[str, str]:
    """What kind of node a run was on: by its description, or by the partition where that is not described."""
    partition = partition_of(run.cluster, run.partition)
    return (run.cluster, repr(partition.node)) if partition else (run.cluster, run.partition)


def _count(gpus: int, runs: Sequence[PastRun], efficiency_fraction: float | None, unit: str) -> GpuCount:
    times_s = [run.elapsed_s for run in runs if run.elapsed_s is not None]
    return GpuCount(
        gpus=gpus,
        runs=len(runs),
        typical_s=median(times_s),
        fastest_s=min(times_s),
        slowest_s=max(times_s),
        efficiency_fraction=efficiency_fraction,
        gpu_hours=known_median([run.gpu_hours for run in runs]),
        avg_gpu_util=known_median([run.avg_gpu_util for run in runs]),
        per_s=known_median([run.throughput.per_s if run.throughput else None for run in runs]) if unit else None,
    )
