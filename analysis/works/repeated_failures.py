"""Works whose latest runs fail in the same way again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

FAILED_MIN, LATEST_MAX = 3, 5
"""A work fails the same way where three of its last five runs did."""

MEMORY_CODES = ("host_out_of_memory", "gpu_out_of_memory")


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
    return RepeatedFailure(how, runs, len(last)) if runs >= FAILED_MIN else None


def _way(run: EndedRun) -> str:
    """How a run failed; empty where it did not."""
    if run.state == "COMPLETED":
        return ""
    memory = next((code for code in MEMORY_CODES if code in run.codes.split()), "")
    if run.state == "OUT_OF_MEMORY":
        return memory or "host_out_of_memory"
    return memory or (run.state if run.state in ("TIMEOUT", "FAILED") else "")
