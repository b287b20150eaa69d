"""What many works did and what came of it, as it may be shown: medians over groups of people, or nothing.

Three questions: what works that followed advice of a kind took and were billed afterwards; what works took that went
from some GPUs to half of them; and which findings works have. Of each only groups of at least five people from at least
five projects are kept, none with more than 85 % of the works. What a reader can subtract is a group as well, or empty:
the works that did not follow, those of no shown program, those without a finding.

A person counts once: a figure is the median over people of the median of each one's works, so that nobody with many
works decides it. Changes are in whole percent, shares in steps of five, hours with two digits.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

import msgspec

from analysis.feedback import GROUP_USERS_MIN, is_anonymous
from analysis.site.suppression import nice_step, rounded

PROJECTS_MIN = GROUP_USERS_MIN
SHARE_STEP_PERCENT = 5
HOURS_STEP_FRACTION = 0.1
HALF = "half_the_gpus"
"""The kind of practice that is no advice: works that went to half of their GPUs, whoever thought of it."""


class OfWork(Protocol):
    """Something about one work of one person in one project."""

    @property
    def user(self) -> int: ...

    @property
    def project(self) -> int: ...


@dataclass(frozen=True)
class Change:
    """One work that was advised, or went to half of its GPUs; `program` is empty where its name tells none.

    The fractions are of run time and GPU-hours after to before, None where other work was done or none is known.
    `following_runs` of later runs followed, `failed_runs` of these for memory or time.
    """

    user: int
    project: int
    kind: str
    program: str = ""
    is_followed: bool = True
    run_time_fraction: float | None = None
    gpu_hours_fraction: float | None = None
    following_runs: int = 0
    failed_runs: int = 0


@dataclass(frozen=True)
class WorkFindings:
    """One work with counted runs in a month: the codes of their findings, and the GPU-hours that they left unused."""

    user: int
    project: int
    codes: frozenset[str]
    unused_gpu_hours: Mapping[str, float] = field(default_factory=dict)


class PracticeFigures(msgspec.Struct, frozen=True):
    """One kind, of one program or of all works (`program` empty); works from `since` to the month that it is stored in.

    `followed` works followed, of `answered` ones that had later runs (None while that is withheld). The changes in
    percent are of `compared` works of `compared_people`, `failed_percent` of the later runs that followed.
    """

    kind: str
    since: str
    followed: int
    people: int
    program: str = ""
    answered: int | None = None
    compared: int = 0
    compared_people: int = 0
    run_time_percent: int | None = None
    gpu_hours_percent: int | None = None
    failed_percent: int | None = None


class MistakeFigures(msgspec.Struct, frozen=True):
    """A finding of one month: `works` of `of_works` had it, of `people`; the hours are what such a work left unused."""

    code: str
    works: int
    of_works: int
    people: int
    unused_gpu_hours: float | None = None


class MonthPractices(msgspec.Struct, frozen=True):
    """What is stored of one month."""

    practices: list[PracticeFigures] = []
    mistakes: list[MistakeFigures] = []


def is_group(rows: Sequence[OfWork], *, may_be_empty: bool = False) -> bool:
    """Whether a statement about these works hides every person and project in it.

    >>> five = [Change(user, project=user, kind="gpus") for user in range(5)]
    >>> is_group(five), is_group(five[:4]), is_group([]), is_group([], may_be_empty=True)
    (True, False, False, True)
    """
    if not rows:
        return may_be_empty
    by_person = Counter(row.user for row in rows)
    return is_anonymous(list(by_person.values())) and len({row.project for row in rows}) >= PROJECTS_MIN


def practice_figures(kind: str, since: str, changes: Sequence[Change]) -> list[PracticeFigures]:
    """What may be shown of one kind: all its works first, then its programs; empty where even all are no group."""
    followed = [each for each in changes if each.is_followed]
    if not is_group(followed):
        return []
    others = [each for each in changes if not each.is_followed]
    answered = len(changes) if kind != HALF and is_group(others, may_be_empty=True) else None
    found = [_figures(kind, since, "", followed, answered)]
    return found + [_of_program(kind, since, program, rows, followed) for program, rows in _programs(followed)]


def _of_program(
    kind: str, since: str, program: str, rows: Sequence[Change], followed: Sequence[Change]
) -> PracticeFigures:
    """Of one program: no share that failed, and changes only where the compared works of others are a group or none."""
    found = msgspec.structs.replace(_figures(kind, since, program, rows, None), failed_percent=None)
    others = [each for each in followed if each.program != program and _is_compared(each)]
    if is_group(others, may_be_empty=True):
        return found
    return msgspec.structs.replace(found, compared=0, compared_people=0, run_time_percent=None, gpu_hours_percent=None)


def _is_compared(change: Change) -> bool:
    return change.run_time_fraction is not None and change.gpu_hours_fraction is not None


def _programs(followed: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The programs whose works are groups, the most works first, as long as all other works are one, or none."""
    by_program: dict[str, list[Change]] = defaultdict(list)
    for each in followed:
        by_program[each.program].append(each)
    left = list(followed)
    shown: list[tuple[str, list[Change]]] = []
    for program, rows in sorted(by_program.items(), key=lambda item: (-len(item[1]), item[0])):
        rest = [each for each in left if each.program != program]
        if program and is_group(rows) and is_group(rest, may_be_empty=bool(shown)):
            shown.append((program, rows))
            left = rest
    return shown


def _figures(kind: str, since: str, program: str, rows: Sequence[Change], answered: int | None) -> PracticeFigures:
    compared = [each for each in rows if _is_compared(each)]
    is_shown = is_group(compared)
    return PracticeFigures(
        kind=kind,
        since=since,
        followed=len(rows),
        people=_people(rows),
        program=program,
        answered=answered,
        compared=len(compared) if is_shown else 0,
        compared_people=_people(compared) if is_shown else 0,
        run_time_percent=_percent_change(compared, "run_time_fraction") if is_shown else None,
        gpu_hours_percent=_percent_change(compared, "gpu_hours_fraction") if is_shown else None,
        failed_percent=_failed_percent(rows),
    )


def _people(rows: Iterable[OfWork]) -> int:
    return len({row.user for row in rows})


def _percent_change(rows: Sequence[Change], name: str) -> int:
    """The median over people of the median of each one's works, as a change in whole percent."""
    return round((_median_of_people([(row.user, getattr(row, name)) for row in rows]) - 1) * 100)


def _median_of_people(values: Iterable[tuple[int, float]]) -> float:
    by_person: dict[int, list[float]] = defaultdict(list)
    for user, value in values:
        by_person[user].append(value)
    return median(median(each) for each in by_person.values())


def _failed_percent(rows: Sequence[Change]) -> int | None:
    """The share of following runs that failed; None where the runs are no group, or none is known."""
    runs: dict[int, int] = defaultdict(int)
    for row in rows:
        runs[row.user] += row.following_runs
    parts = [count for count in runs.values() if count]
    if not parts or not is_anonymous(parts):
        return None
    share = 100 * sum(row.failed_runs for row in rows) / sum(parts)
    return int(rounded(share, SHARE_STEP_PERCENT))


def mistake_figures(works: Sequence[WorkFindings], codes: Collection[str]) -> list[MistakeFigures]:
    """The findings that may be shown, the most works first; those without it are a group as well, or none."""
    found = []
    for code in sorted(codes):
        having = [each for each in works if code in each.codes]
        without = [each for each in works if code not in each.codes]
        if is_group(having) and is_group(without, may_be_empty=True):
            found.append(_mistake(code, having, len(works)))
    return sorted(found, key=lambda each: (-each.works, each.code))


def _mistake(code: str, having: Sequence[WorkFindings], of_works: int) -> MistakeFigures:
    costs = [(each, each.unused_gpu_hours[code]) for each in having if code in each.unused_gpu_hours]
    hours = None
    if is_group([each for each, _ in costs]):
        value = _median_of_people([(each.user, cost) for each, cost in costs])
        hours = rounded(value, nice_step(value * HOURS_STEP_FRACTION)) if value > 0 else 0.0
    return MistakeFigures(code, len(having), of_works, _people(having), hours)
