"""Which runs of a work failed, how, and what they had in common that most completed runs had not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.works.runs import CANCELLED, PastRun

SHARED_BY_COMPLETED_MAX = 0.5
"""What more than half of the completed runs had as well tells no failed run apart."""

FAILED_MIN = 2
"""One failed run has nothing in common with others."""

TRAITS: tuple[tuple[str, Callable[[PastRun], object]], ...] = (
    ("partition", lambda run: run.partition or None),
    ("nodes", lambda run: run.nodes),
    ("gpus", lambda run: run.gpus),
    ("ntasks", lambda run: run.ntasks),
    ("memory_gb", lambda run: run.memory_gb),
    ("walltime_s", lambda run: run.walltime_s),
)


@dataclass(frozen=True)
class FailedState:
    """The runs that ended in one state; `fraction` is of all runs, `typical_s` the median of their run times."""

    state: str
    runs: int
    fraction: float
    typical_s: float | None
    gpu_hours: float | None


@dataclass(frozen=True)
class SharedTrait:
    """What every failed run had, `completed` of `completed_of` successful ones had it too."""

    name: str
    value: object
    completed: int
    completed_of: int


@dataclass(frozen=True)
class Failures:
    """The states, most runs first; `findings` are (code, failed runs with it), of `judged` ones that have a report."""

    ended: int
    failed: int
    cancelled: int
    states: tuple[FailedState, ...]
    traits: tuple[SharedTrait, ...]
    judged: int
    findings: tuple[tuple[str, int], ...]

    @property
    def fraction(self) -> float | None:
        return self.failed / self.ended if self.ended else None


def failures(runs: Sequence[PastRun]) -> Failures:
    """How the runs of one work failed; a cancelled run is no failure."""
    failed = [run for run in runs if run.is_failure]
    states = Counter(run.state for run in failed)
    judged = [run for run in failed if run.is_judged]
    codes = Counter(code for run in judged for code in set(run.finding_codes.split()))
    return Failures(
        ended=len(runs),
        failed=len(failed),
        cancelled=sum(run.state == CANCELLED for run in runs),
        states=tuple(
            _state(state, [run for run in failed if run.state == state], len(runs)) for state in _most(states)
        ),
        traits=_shared(failed, [run for run in runs if run.is_completed]),
        judged=len(judged),
        findings=tuple((code, codes[code]) for code in _most(codes) if 2 * codes[code] >= len(judged)),
    )


def _most(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _state(state: str, runs: Sequence[PastRun], ended: int) -> FailedState:
    times_s = [run.elapsed_s for run in runs if run.elapsed_s is not None]
    hours = [run.gpu_hours for run in runs if run.gpu_hours is not None]
    return FailedState(
        state, len(runs), len(runs) / ended, median(times_s) if times_s else None, sum(hours) if hours else None
    )


def _shared(failed: Sequence[PastRun], completed: Sequence[PastRun]) -> tuple[SharedTrait, ...]:
    if len(failed) < FAILED_MIN or not completed:
        return ()
    found = []
    for name, of in TRAITS:
        values = {of(run) for run in failed}
        value = of(failed[0])
        if len(values) > 1 or value is None:
            continue
        known = [of(run) for run in completed if of(run) is not None]
        same = sum(other == value for other in known)
        if known and same <= SHARED_BY_COMPLETED_MAX * len(known):
            found.append(SharedTrait(name, value, same, len(known)))
    return tuple(found)
