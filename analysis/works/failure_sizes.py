"""Above or below which size the runs of a work fail: from states, findings and sizes alone, and never from few runs.

Every split of every size is tried, so the one that stands out most would often stand out by chance. Therefore its
probability by chance (Fisher's exact test, one-sided) is multiplied by the number of splits that were tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.findings import MEMORY_CODES
from analysis.works.runs import PastRun

FAILED_MIN, SIDE_MIN = 3, 3
"""Fewer failures, or fewer runs on one side of a split, state nothing."""

CHANCE_MAX = 0.05
"""A split that chance alone would show in more than 1 of 20 works is not stated."""

Floats = NDArray[np.float64]

SIZES = ("gpus", "nodes", "ntasks", "memory_gb", "walltime_s")
FAILURES: tuple[tuple[str, Callable[[PastRun], bool]], ...] = (
    ("memory", lambda run: run.state == "OUT_OF_MEMORY" or bool(set(MEMORY_CODES) & set(run.finding_codes.split()))),
    ("time", lambda run: run.state == "TIMEOUT"),
    ("failed", lambda run: run.state == "FAILED" and "out_of_memory" not in run.finding_codes),
)


@dataclass(frozen=True)
class FailureSize:
    """`failed_above` of `runs_above` runs with more than `limit` failed this way, `failed_below` of the others."""

    failure: str
    size: str
    limit: float
    failed_above: int
    runs_above: int
    failed_below: int
    runs_below: int

    @property
    def is_above(self) -> bool:
        """Whether the larger runs fail."""
        return self.failed_above * self.runs_below > self.failed_below * self.runs_above


def failure_sizes(runs: Sequence[PastRun]) -> list[FailureSize]:
    """For each way to fail the split that tells most, where it is not chance; at most one each."""
    decided = [run for run in runs if run.is_completed or run.is_own_failure]
    sizes = [(name, [getattr(run, name) for run in decided]) for name in SIZES]
    log_factorials = _log_factorials(len(decided))
    found = []
    for failure, holds in FAILURES:
        failed = [holds(run) for run in decided]
        if sum(failed) < FAILED_MIN:
            continue
        splits = [split for name, values in sizes for split in _splits(failure, name, values, failed)]
        chances = [(_chance(split, log_factorials), place) for place, split in enumerate(splits)]
        if chances and min(chances)[0] * len(splits) <= CHANCE_MAX:
            found.append(splits[min(chances)[1]])
    return found


def _splits(failure: str, name: str, values: Sequence[float | None], failed: Sequence[bool]) -> list[FailureSize]:
    """Every way to divide the runs by one size, with enough runs on both sides."""
    by_size: dict[float, list[bool]] = {}
    for size, has_failed in zip(values, failed, strict=True):
        if size is not None:
            by_size.setdefault(size, []).append(has_failed)
    runs, failures = sum(map(len, by_size.values())), sum(map(sum, by_size.values()))
    if failures < FAILED_MIN:
        return []
    found, below, failed_below = [], 0, 0
    for size in sorted(by_size)[:-1]:
        below, failed_below = below + len(by_size[size]), failed_below + sum(by_size[size])
        if min(below, runs - below) >= SIDE_MIN:
            found.append(FailureSize(failure, name, size, failures - failed_below, runs - below, failed_below, below))
    return found


def _log_factorials(most: int) -> Floats:
    """The logarithms of 0! to `most`!, `(most + 1,)`: the factorials of thousands of runs fit no float."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1, dtype=np.float64)))])


def _chance(split: FailureSize, log_factorials: Floats) -> float:
    """How often chance puts at least as many of the failures on the side where they are, both sides counted.

    >>> round(_chance(FailureSize("memory", "gpus", 8, 4, 5, 0, 12), _log_factorials(17)), 4)
    0.0042
    """
    failed, runs = split.failed_above + split.failed_below, split.runs_above + split.runs_below
    here, of = (split.failed_above, split.runs_above) if split.is_above else (split.failed_below, split.runs_below)
    count = np.arange(here, min(failed, of) + 1)
    # Of more failures on one side than this there are fewer non-failures than the other places need.
    count = count[of - count <= runs - failed]

    def log_ways(whole: Any, part: Any) -> Any:
        return log_factorials[whole] - log_factorials[part] - log_factorials[whole - part]

    log_chances = log_ways(failed, count) + log_ways(runs - failed, of - count) - log_ways(runs, of)
    return min(2 * float(np.sum(np.exp(log_chances))), 1.0)
