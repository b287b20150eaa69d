"""What became of the advice on the runs of one work: which later runs followed it, and what they saved.

A later run answers the last advice of its kind that existed when it was submitted. One that was cancelled, that the
system ended or that was too short to count answers nothing, unless it ran out of what the advice had reduced.

Whether a request follows advice is one rule, `how_followed`, here and in `analysis.history.open_savings`.
The questions differ. Here it is what the advice brought about: what was submitted before a report existed owes it
nothing, and a run that failed shows what following did. There it is what the next run can still save: a request that
works leaves nothing of it, whoever thought of it first, and one that failed is no better request.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

from analysis.comparable import SAME_WORK_MAX, known_median
from analysis.findings import MEMORY_CODES
from jobs.sbatch import Shape

REACHED_FRACTION = 0.9
"""This much of the way from the old request to the suggested one counts as all of it: people write round numbers."""

PARTLY_FRACTION = 0.5
"""From half of the way on advice was followed in part."""

MEASURED_WORK_PERCENT_MIN = 5.0
"""Below this use busy GPU-hours do not say how much a run did: its run time does."""

OF_KIND = {
    "gpus": ("gpus", "partition", "nodes", "cores", "memory"),
    "host_memory": ("memory", "cores"),
    "cores": ("cores",),
    "walltime": ("time",),
}
"""What each kind of advice changes; the first one that a piece of it changes is what it is about."""

OUT_OF_MEMORY, TIMEOUT = "OUT_OF_MEMORY", "TIMEOUT"
HARMS = {"gpus": "memory time", "host_memory": "memory", "cores": "memory time", "walltime": "time"}
"""Which failures of a run that followed can come from each kind of advice."""


class Status(StrEnum):
    """`OPEN`: no later run yet; `REPEATED`: the same kind of advice was given again before a later run could follow."""

    OPEN = "open"
    REPEATED = "repeated"
    NOT_FOLLOWED = "not_followed"
    PARTLY = "partly"
    FOLLOWED = "followed"


@dataclass(frozen=True)
class Advice:
    """One recommendation; nobody could follow it before `given_at`. `claimed_gpu_hours` None: nothing was claimed."""

    kind: str
    wanted: Shape
    given_at: datetime
    claimed_gpu_hours: float | None = None


@dataclass(frozen=True)
class AdvisedRun:
    """A run of some work with the advice of its report; `shape` is what it was allocated, None is not known.

    `uncounted` is why no statistics count it, `codes` as in `finding_codes`.
    """

    pk: int
    submitted_at: datetime
    ended_at: datetime
    state: str
    shape: Shape
    run_s: float | None
    gpu_hours: float | None
    util_percent: float | None
    uncounted: str = ""
    codes: str = ""
    advice: tuple[Advice, ...] = ()

    @property
    def failed_for(self) -> frozenset[str]:
        """Which of "memory" and "time" ended it."""
        found = set(self.codes.split())
        memory = self.state == OUT_OF_MEMORY or found.intersection(MEMORY_CODES)
        return frozenset(name for name, holds in (("memory", memory), ("time", self.state == TIMEOUT)) if holds)

    @property
    def is_answer(self) -> bool:
        """Whether it shows what somebody made of advice."""
        return bool(self.failed_for) or (self.state in ("COMPLETED", "FAILED") and not self.uncounted)


@dataclass(frozen=True)
class Outcome:
    """What became of one piece of advice on the run `pk`.

    `dimensions` are those that the followers moved as suggested. Of `later_runs` `following_runs` followed, in full or,
    with `PARTLY`, in part; `failed_runs` of these and `other_failed_runs` of the rest failed for memory or time.
    `realised_gpu_hours` is what the `compared_runs` of the followers were billed less than the advised run for as much
    work, below zero where they were billed more; None where none can be compared. The three medians are of the
    followers, of all later runs where none followed.

    A run may follow several pieces of advice. Added up over all advice on a work, `credited_runs` counts each follower
    once, `credited_compared_runs` each that can be compared with a run whose advice it followed, and
    `credited_gpu_hours` what these were billed less than the first such run.
    """

    pk: int
    advice: Advice
    status: Status
    dimensions: tuple[str, ...] = ()
    later_runs: int = 0
    following_runs: int = 0
    failed_runs: int = 0
    other_failed_runs: int = 0
    compared_runs: int = 0
    realised_gpu_hours: float | None = None
    first_pk: int | None = None
    first_at: datetime | None = None
    util_percent_after: float | None = None
    gpu_hours_after: float | None = None
    run_s_after: float | None = None
    credited_runs: int = 0
    credited_compared_runs: int = 0
    credited_gpu_hours: float = 0.0


@dataclass(frozen=True)
class _Followed:
    """One piece of advice on a run and what became of it; `saved` is what each follower was billed less, by its key."""

    run: AdvisedRun
    outcome: Outcome
    saved: Mapping[int, float | None]

    @property
    def order(self) -> tuple[datetime, int, int]:
        """As it was given; of one report what saves most comes last, so that it is credited."""
        advice = self.outcome.advice
        return advice.given_at, self.run.pk, -list(OF_KIND).index(advice.kind)


def outcomes(runs: Sequence[AdvisedRun]) -> list[Outcome]:
    """What became of every piece of advice on these runs of one work, by kind and then as it was given."""
    answers = sorted((run for run in runs if run.is_answer), key=lambda run: (run.submitted_at, run.pk))
    found: list[_Followed] = []
    for kind in OF_KIND:
        given = sorted(
            ((run, advice) for run in runs for advice in run.advice if advice.kind == kind),
            key=lambda each: (each[1].given_at, each[0].pk),
        )
        later = _answers_to([advice.given_at for _, advice in given], answers)
        last = len(given) - 1
        found += [
            _followed(run, advice, later[place], is_repeated=place < last) for place, (run, advice) in enumerate(given)
        ]
    return _credited(found)


def _answers_to(given_at: Sequence[datetime], answers: Sequence[AdvisedRun]) -> list[list[AdvisedRun]]:
    """For each piece of advice, in order, the later runs that it is the last one for."""
    found: list[list[AdvisedRun]] = [[] for _ in given_at]
    for run in answers:
        place = bisect_right(given_at, run.submitted_at)
        if place:
            found[place - 1].append(run)
    return found


def _credited(found: Sequence[_Followed]) -> list[Outcome]:
    """The outcomes in their order, each with what it is credited for.

    A follower counts with the last advice that it followed. Its hours are divided: each piece of advice gets what was
    billed less between its run and the run that got the next piece, the last one what the follower was billed less.
    So the parts of older runs stay true once these are no longer read.
    """
    runs, compared_runs, gpu_hours = [0] * len(found), [0] * len(found), [0.0] * len(found)
    by_follower: dict[int, list[int]] = defaultdict(list)
    for place in sorted(range(len(found)), key=lambda place: found[place].order):
        for pk in found[place].saved:
            by_follower[pk].append(place)
    for pk, places in by_follower.items():
        runs[places[-1]] += 1
        compared = [(place, hours) for place in places if (hours := found[place].saved[pk]) is not None]
        if compared:
            compared_runs[compared[-1][0]] += 1
        for each, (place, hours) in enumerate(compared):
            gpu_hours[place] += hours - (compared[each + 1][1] if each + 1 < len(compared) else 0.0)
    return [
        replace(each.outcome, credited_runs=count, credited_compared_runs=compared_count, credited_gpu_hours=hours)
        for each, count, compared_count, hours in zip(found, runs, compared_runs, gpu_hours, strict=True)
    ]


def _followed(run: AdvisedRun, advice: Advice, later: Sequence[AdvisedRun], *, is_repeated: bool) -> _Followed:
    if not later:
        return _Followed(run, Outcome(run.pk, advice, Status.REPEATED if is_repeated else Status.OPEN), {})
    levels = [how_followed(run.shape, advice.kind, advice.wanted, other.shape) for other in later]
    status = max(levels, key=list(Status).index)
    followers = [
        other for other, level in zip(later, levels, strict=True) if level is status is not Status.NOT_FOLLOWED
    ]
    harms = frozenset(HARMS[advice.kind].split())
    failed = [other for other in later if other.failed_for & harms]
    saved_by = {other.pk: _saved_gpu_hours(run, advice, other) for other in followers}
    saved = [hours for hours in saved_by.values() if hours is not None]
    shown = followers or later
    outcome = Outcome(
        pk=run.pk,
        advice=advice,
        status=status,
        dimensions=_moved_by_all(run.shape, advice, followers),
        later_runs=len(later),
        following_runs=len(followers),
        failed_runs=sum(other in followers for other in failed),
        other_failed_runs=sum(other not in followers for other in failed),
        compared_runs=len(saved),
        realised_gpu_hours=sum(saved) if saved else None,
        first_pk=followers[0].pk if followers else None,
        first_at=followers[0].ended_at if followers else None,
        util_percent_after=known_median([other.util_percent for other in shown]),
        gpu_hours_after=known_median([other.gpu_hours for other in shown]),
        run_s_after=known_median([other.run_s for other in shown]),
    )
    return _Followed(run, outcome, saved_by)


def _value(shape: Shape, dimension: str) -> object:
    name = {"memory": "memory_gb", "time": "walltime_s"}.get(dimension, dimension)
    return getattr(shape, name)


def advised_dimensions(now: Shape, kind: str, wanted: Shape) -> tuple[str, ...]:
    """What advice changes, what it is about first.

    >>> advised_dimensions(Shape(1, 8, memory_gb=480.0), "gpus", Shape(1, 2, memory_gb=120.0))
    ('gpus', 'memory')
    """
    return tuple(
        name for name in OF_KIND[kind] if _value(wanted, name) is not None and _value(wanted, name) != _value(now, name)
    )


def _moved_fraction(now: Shape, wanted: Shape, later: Shape, dimension: str) -> float:
    """How much of the way from the old value to the suggested one a later run went; a name is all or nothing."""
    before, aim, after = (_value(shape, dimension) for shape in (now, wanted, later))
    if isinstance(aim, str):
        return float(aim == after)
    if not (isinstance(before, int | float) and isinstance(aim, int | float) and isinstance(after, int | float)):
        return 0.0
    return (before - after) / (before - aim)


@lru_cache(maxsize=1024)
def how_followed(now: Shape, kind: str, wanted: Shape, later: Shape) -> Status:
    """How far a later request went from the old one to the suggested one: followed, partly, or not.

    >>> [how_followed(Shape(1, 8), "gpus", Shape(1, 2), Shape(1, gpus)).value for gpus in (2, 3, 4, 6)]
    ['followed', 'partly', 'partly', 'not_followed']
    """
    moved = {name: _moved_fraction(now, wanted, later, name) for name in advised_dimensions(now, kind, wanted)}
    if not moved:
        return Status.NOT_FOLLOWED
    about = next(iter(moved.values()))
    if about >= REACHED_FRACTION:
        return Status.FOLLOWED
    is_partly = about >= PARTLY_FRACTION or (about >= 0 and max(moved.values()) >= REACHED_FRACTION)
    return Status.PARTLY if is_partly else Status.NOT_FOLLOWED


def _moved_by_all(now: Shape, advice: Advice, followers: Sequence[AdvisedRun]) -> tuple[str, ...]:
    """What every follower moved as suggested."""
    return tuple(
        name
        for name in advised_dimensions(now, advice.kind, advice.wanted)
        if followers
        and all(_moved_fraction(now, advice.wanted, run.shape, name) >= REACHED_FRACTION for run in followers)
    )


def _saved_gpu_hours(run: AdvisedRun, advice: Advice, later: AdvisedRun) -> float | None:
    """What a later run was billed less; None where it did other work, did not complete, or the advice is on time."""
    is_compared = run.state == later.state == "COMPLETED" and advice.kind != "walltime"
    if not is_compared or run.gpu_hours is None or later.gpu_hours is None or not _is_same_amount(run, later):
        return None
    return run.gpu_hours - later.gpu_hours


def _is_same_amount(run: AdvisedRun, later: AdvisedRun) -> bool:
    """Whether both did about as much: busy GPU-hours, or run times where the first did nothing on its GPUs."""
    if run.util_percent is None or run.run_s is None or later.run_s is None:
        return False
    if run.util_percent < MEASURED_WORK_PERCENT_MIN:
        before, after = run.run_s, later.run_s
    elif later.util_percent is None:
        return False
    else:
        before = run.shape.gpus * run.util_percent * run.run_s
        after = later.shape.gpus * later.util_percent * later.run_s
    return before > 0 and after > 0 and 1 / SAME_WORK_MAX <= after / before <= SAME_WORK_MAX
