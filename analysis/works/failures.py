"""Which runs of a work failed, how, what sets them apart from most completed runs, and failures that repeat."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparable import known_median, known_sum
from analysis.findings import MEMORY_CODES
from analysis.works.runs import CANCELLED, PastRun

SHARED_BY_COMPLETED_MAX = 0.5
"""What more than half of the completed runs had as well tells no failed run apart."""

FAILED_MIN = 2
"""One failed run has nothing in common with others."""

TRAITS = ("partition", "nodes", "gpus", "ntasks", "memory_gb", "walltime_s")
UNKNOWN = (None, "")


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
    return FailedState(
        state,
        len(runs),
        len(runs) / ended,
        known_median(run.elapsed_s for run in runs),
        known_sum(run.gpu_hours for run in runs),
    )


def _shared(failed: Sequence[PastRun], completed: Sequence[PastRun]) -> tuple[SharedTrait, ...]:
    if len(failed) < FAILED_MIN or not completed:
        return ()
    found = []
    for name in TRAITS:
        value, *others = {getattr(run, name) for run in failed}
        if others or value in UNKNOWN:
            continue
        known = [each for run in completed if (each := getattr(run, name)) not in UNKNOWN]
        same = sum(other == value for other in known)
        if known and same <= SHARED_BY_COMPLETED_MAX * len(known):
            found.append(SharedTrait(name, value, same, len(known)))
    return tuple(found)


REPEATED_MIN, LATEST_MAX = 3, 5
"""A work fails the same way where three of its last five runs did."""


@dataclass(frozen=True)
class EndedRun:
    """How one run ended; `codes` are those of its findings."""

    state: str
    codes: str = ""


@dataclass(frozen=True)
class RepeatedFailure:
    """`runs` of the last `of` runs failed this way: "TIMEOUT", "FAILED" or the code of what memory ran out."""

    how: str
    runs: int
    of: int


def repeated_failure(latest_first: Sequence[EndedRun]) -> RepeatedFailure | None:
    """The way in which the latest runs of one work fail; None where they do not, or the last one completed.

    Cancelled runs and those that the system ended are not asked for.

    >>> runs = [EndedRun("TIMEOUT"), EndedRun("COMPLETED"), EndedRun("TIMEOUT"), EndedRun("TIMEOUT")]
    >>> repeated_failure(runs)
    RepeatedFailure(how='TIMEOUT', runs=3, of=4)
    >>> repeated_failure([EndedRun("COMPLETED"), *runs]) is None
    True
    """
    last = latest_first[:LATEST_MAX]
    ways = Counter(way for run in last if (way := _way(run)))
    if not ways or not _way(last[0]):
        return None
    how, runs = ways.most_common(1)[0]
    return RepeatedFailure(how, runs, len(last)) if runs >= REPEATED_MIN else None


def _way(run: EndedRun) -> str:
    """How a run failed; empty where it did not."""
    if run.state == "COMPLETED":
        return ""
    memory = next((code for code in MEMORY_CODES if code in run.codes.split()), "")
    if run.state == "OUT_OF_MEMORY":
        return memory or "host_out_of_memory"
    return memory or (run.state if run.state in ("TIMEOUT", "FAILED") else "")
