"""Works that regularly follow one another, as one line: prepare, then train, then evaluate.

A run follows another if it became able to start within ten minutes after that one ended: with a dependency, Slurm's
eligible time is that end, and a script that submits the next job does so at once. Two works are linked if at least 5
runs pair up one to one, these are at least four fifths of the runs of each, and no more than half as many would pair up
if the second had become able to start some minutes earlier or later.

Why that raises few false alarms: works that run independently pair up only by the chance that an end lies in those ten
minutes. With an end every 100 minutes that is 1 in 10, and 5 pairs of 5 are 1 in 100,000. Where ends are so dense that
pairs are likely, the shifted times pair up as well. Works that start at the same times of day without waiting for each
other do not pair up unless one happens to end just before the other can start.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median

PAIRS_MIN = 5
SHARE_MIN = 0.8
WINDOW_S = 600.0
TOLERANCE_S = 5.0
"""Slurm's times are whole seconds, and accounting may have written an end after the next run became eligible."""

SHIFTS_S = tuple(sign * 60.0 * minutes for minutes in (25, 35, 85, 145) for sign in (1, -1))
"""No shift is a whole number of hours: what a timer starts every hour would pair up with itself again."""

SHIFTED_SHARE_MAX = 0.5
WORKS_MAX = 60
"""The works with the most runs; of more, each pair of them would be compared."""

COMPLETED = "COMPLETED"


@dataclass(frozen=True)
class StepRun:
    """One run as a pipeline sees it; hours are None where not known. Tasks of an array count as one run."""

    pk: int
    work_key: str
    eligible_at: datetime
    ended_at: datetime
    is_completed: bool
    gpu_hours: float | None = None
    wasted_gpu_hours: float | None = None
    array: tuple[str, int] | None = None


@dataclass(frozen=True)
class Pipeline:
    """Works in the order in which they run, each with the key of its latest run.

    `passes` is how often the least frequent link paired up; the sums are over all `runs` of these works.
    """

    work_keys: tuple[str, ...]
    latest: tuple[int, ...]
    passes: int
    runs: int
    gpu_hours: float
    wasted_gpu_hours: float
    latest_at: datetime


@dataclass(frozen=True)
class _Step:
    """The times of one work: when its runs became able to start, and when they ended, sorted; of both all and those
    that completed."""

    starts_s: tuple[float, ...]
    ends_s: tuple[float, ...]
    completed_ends_s: tuple[float, ...]


@dataclass(frozen=True)
class _Link:
    pairs: int
    gap_s: float


def pipelines(runs: Sequence[StepRun]) -> list[Pipeline]:
    """The pipelines among the runs of one person in one project, the most GPU-hours first."""
    by_work: dict[str, list[StepRun]] = defaultdict(list)
    for run in runs:
        if run.work_key:
            by_work[run.work_key].append(run)
    steps = {key: _step(found) for key, found in by_work.items()}
    often = [key for key, step in steps.items() if len(step.starts_s) >= PAIRS_MIN]
    often = sorted(often, key=lambda key: (-len(steps[key].starts_s), key))[:WORKS_MAX]
    links = {
        (one, other): link
        for one in often
        for other in often
        if one != other and (link := _link(steps[one], steps[other])) is not None
    }
    found = [_pipeline(chain, by_work, links) for chain in _chains(links)]
    return sorted(found, key=lambda each: (-each.gpu_hours, each.work_keys))


def _step(runs: Iterable[StepRun]) -> _Step:
    """The times of one work; an array begins with its first task and ends with its last one."""
    together: dict[object, list[StepRun]] = defaultdict(list)
    for run in runs:
        together[run.array or run.pk].append(run)
    groups = list(together.values())
    ends = [(max(run.ended_at for run in group), all(run.is_completed for run in group)) for group in groups]
    return _Step(
        tuple(sorted(min(run.eligible_at for run in group).timestamp() for group in groups)),
        tuple(sorted(end.timestamp() for end, _ in ends)),
        tuple(sorted(end.timestamp() for end, is_completed in ends if is_completed)),
    )


def _link(one: _Step, other: _Step) -> _Link | None:
    """How the second work follows the first one; None where it does not do so regularly."""
    gaps_s = _paired(one.ends_s, other.starts_s, 0.0)
    pairs = len(gaps_s)
    if pairs < PAIRS_MIN or pairs < SHARE_MIN * len(other.starts_s):
        return None
    # A run that failed need not have been followed.
    if len(_paired(one.completed_ends_s, other.starts_s, 0.0)) < SHARE_MIN * len(one.completed_ends_s):
        return None
    if max(len(_paired(one.ends_s, other.starts_s, shift_s)) for shift_s in SHIFTS_S) > SHIFTED_SHARE_MAX * pairs:
        return None
    return _Link(pairs, median(gaps_s))


def _paired(ends_s: Sequence[float], starts_s: Sequence[float], shift_s: float) -> list[float]:
    """The seconds from each end to the first start that follows it, where both are used once.

    >>> _paired([0.0, 1000.0], [3.0, 4.0, 1700.0], 0.0)
    [3.0]
    """
    gaps_s: list[float] = []
    used = -1
    for start_s in starts_s:
        at_s = start_s + shift_s
        place = bisect_right(ends_s, at_s + TOLERANCE_S) - 1
        if place > used and at_s - ends_s[place] <= WINDOW_S:
            gaps_s.append(at_s - ends_s[place])
            used = place
    return gaps_s


def _chains(links: Mapping[tuple[str, str], _Link]) -> list[list[str]]:
    """The links as chains in which each work stands once: of several links of a work the shortest gap counts."""
    after: dict[str, str] = {}
    before: dict[str, str] = {}
    for one, other in sorted(links, key=lambda pair: (links[pair].gap_s, pair)):
        if one not in after and other not in before and not _reaches(after, other, one):
            after[one], before[other] = other, one
    chains = []
    for first in sorted(after.keys() - before.keys()):
        chain = [first]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        chains.append(chain)
    return chains


def _reaches(after: Mapping[str, str], first: str, last: str) -> bool:
    """Whether a chain from `first` comes to `last`: one more link would close a circle."""
    at = first
    while at in after and at != last:
        at = after[at]
    return at == last


def _pipeline(
    chain: Sequence[str], by_work: Mapping[str, Sequence[StepRun]], links: Mapping[tuple[str, str], _Link]
) -> Pipeline:
    runs = [run for key in chain for run in by_work[key]]
    return Pipeline(
        work_keys=tuple(chain),
        latest=tuple(max(by_work[key], key=lambda run: (run.ended_at, run.pk)).pk for key in chain),
        passes=min(links[pair].pairs for pair in pairwise(chain)),
        runs=len(runs),
        gpu_hours=sum(run.gpu_hours or 0.0 for run in runs),
        wasted_gpu_hours=sum(run.wasted_gpu_hours or 0.0 for run in runs),
        latest_at=max(run.ended_at for run in runs),
    )
