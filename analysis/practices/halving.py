"""Works that went from some number of GPUs to half of it, and what that did to their run time.

Compared are runs to their end of five minutes or more on the same kind of node. A work whose runs on one number differ
by more than doubling the GPUs could bring, or that was so much faster or slower per GPU that it did other work, says
nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from analysis.comparable import RUNS_MIN, SAME_WORK_MAX, ComparableRun, is_noisy


@dataclass(frozen=True)
class SizedRun:
    """One completed run of a work; `hardware` names the kind of node."""

    gpus: int
    run_s: float
    gpu_hours: float
    ended_at: datetime
    hardware: str = ""


@dataclass(frozen=True)
class Halving:
    """That a work went from `gpus` to half: the second run there ended at `at`; fractions of after to before."""

    gpus: int
    at: datetime
    run_time_fraction: float
    gpu_hours_fraction: float


def halvings(runs: Sequence[SizedRun]) -> list[Halving]:
    """Every step of one work to half of its GPUs, in the order of time.

    >>> first = datetime(2026, 9, 1)
    >>> runs = [SizedRun(8, 1000.0, 4.0, first.replace(day=1)), SizedRun(4, 1060.0, 2.12, first.replace(day=2))]
    >>> halvings([*runs, SizedRun(4, 1060.0, 2.12, first.replace(day=3))])[0].run_time_fraction
    1.06
    """
    by_hardware: dict[str, dict[int, list[SizedRun]]] = defaultdict(lambda: defaultdict(list))
    for run in sorted(runs, key=lambda run: run.ended_at):
        by_hardware[run.hardware][run.gpus].append(run)
    found = [step for sizes in by_hardware.values() for step in _steps(sizes)]
    return sorted(found, key=lambda step: (step.at, step.gpus))


def _steps(sizes: dict[int, list[SizedRun]]) -> Iterator[Halving]:
    for gpus in sorted(sizes):
        whole, half = sizes[gpus], sizes.get(gpus // 2, []) if gpus % 2 == 0 else []
        after = [run for run in half if run.ended_at > whole[0].ended_at]
        if len(after) >= RUNS_MIN and (step := _step(gpus, whole, after)):
            yield step


def _step(gpus: int, whole: Sequence[SizedRun], after: Sequence[SizedRun]) -> Halving | None:
    if is_noisy([ComparableRun(run.gpus, run.run_s) for run in (*whole, *after)]):
        return None
    run_time = median(run.run_s for run in after) / median(run.run_s for run in whole)
    # Half of the GPUs take once as long where doubling brings nothing, and twice as long where it halves the time.
    if not 1 / SAME_WORK_MAX <= run_time <= 2 * SAME_WORK_MAX:
        return None
    before_hours = median(run.gpu_hours for run in whole)
    if before_hours <= 0:
        return None
    return Halving(gpus, after[RUNS_MIN - 1].ended_at, run_time, median(run.gpu_hours for run in after) / before_hours)
