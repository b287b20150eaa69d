"""One row of the policy export: what is shown of a project or of a user in one month, rounded, or why it is not.

A project's figures are sums over people. Each is shown only if it is safe by itself, and all of them, shares and score
too, are made of the rounded sums. A user's amounts are the least of a band that at least 5 users share.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from analysis.feedback import GROUP_USERS_MIN
from analysis.policy import sums
from analysis.policy.bands import banded, lower_bound
from analysis.policy.suggestion import JOBS_MIN, LEAST, MOST, multiplier, score_range_percent
from analysis.policy.sums import PolicySums, column
from analysis.site.suppression import Withheld, reason, reason_of, rounded, step_of

SCHEMA = "policy-efficiency/1"
PROJECT, USER = "project", "user"
KINDS = (PROJECT, USER)
FEW_JOBS, GROUP_RULE = "few_jobs", "group_rule"
"""Why columns of a shown row are withheld: a user's jobs are too few, or the people behind a project's column are."""

ADVISORY = "Advice only: Kaiku changes no priority, no quota and no account."

Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Amount = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Reason = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(Withheld)})$")]
ColumnReason = Annotated[str, msgspec.Meta(pattern=f"^({FEW_JOBS}|{GROUP_RULE})$")]
Kind = Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(KINDS)})$")]
MONTH_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])$"
Month = Annotated[str, msgspec.Meta(pattern=MONTH_PATTERN)]


class Shares(msgspec.Struct):
    """The part of each class, 0..1."""

    efficient: Fraction
    acceptable: Fraction
    inefficient: Fraction
    wasted: Fraction
    unknown: Fraction


class PolicyLine(msgspec.Struct, kw_only=True):
    """One project or user in one month; `docs/policy.md` explains each column. Null is withheld, or not measured."""

    period: Month
    kind: Kind
    key: str
    name: str | None = None
    withheld: Reason | None = None
    withheld_columns: list[str] = []
    withheld_columns_reason: ColumnReason | None = None
    jobs: Count | None = None
    gpu_hours: Amount | None = None
    efficiency_score: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    unused_gpu_hours: Amount | None = None
    advice_gpu_hours: Amount | None = None
    advice_fraction: Amount | None = None
    classes_by_gpu_hours: Shares | None = None
    classes_by_jobs: Shares | None = None
    flag: bool | None = None
    coverage_fraction: Fraction | None = None
    followed_runs: Count | None = None
    followed_gpu_hours: Amount | None = None
    suggested_multiplier: Annotated[float, msgspec.Meta(ge=LEAST, le=MOST)] | None = None


class WithheldCount(msgspec.Struct):
    """How many rows of a month are withheld for one reason."""

    period: Month
    kind: Kind
    reason: Reason
    rows: Count


class PolicyExport(msgspec.Struct):
    """The whole export; projects by name, then users by key, month by month."""

    schema: str
    advisory: str
    periods: list[Month]
    withheld: list[WithheldCount]
    rows: list[PolicyLine]


OF_THE_ROW = ("period", "kind", "key", "name", "withheld")
FIGURES = tuple(name for name in PolicyLine.__struct_fields__ if name not in OF_THE_ROW)
"""What is stored of a row that is shown."""

USER_DIGITS = 1
"""Shares of a user's classes are tenths: from 7 of 15 jobs as 0.47 the number of jobs could be computed."""

SHARES = ("classes_by_gpu_hours", "classes_by_jobs")

OF_FEW_JOBS = (
    *("efficiency_score", "unused_gpu_hours", "advice_gpu_hours", "advice_fraction", *SHARES),
    *("coverage_fraction", "followed_runs", "followed_gpu_hours"),
)
"""What is withheld of a user with few jobs: of one job, each of them is that job's figure."""

NONE: Mapping[str, Any] = dict.fromkeys(FIGURES) | {"withheld_columns": []}
"""The figures of a row that is withheld."""


def project_figures(people: PolicySums, flag: bool | None) -> Mapping[str, Any] | Withheld:
    """`FIGURES` of one project from the sums of its people, (P, `sums.NAMES`); the reason where they are withheld.

    `flag` is whether it had a flag at the end of the month; None where that may not be shown.
    """
    parts = sums.parts(people)
    if why := reason(parts):
        return why
    step = step_of(parts.sum(axis=1))
    hours, measured = (rounded(float(column(people, name).sum()), step) for name in ("gpu_hours", "measured"))
    advice = _shown(column(people, "advice"), step)
    used, unused = (rounded(float(parts[:, part].sum()), step) for part in (0, 1))
    jobs = column(people, "jobs")
    found = {
        "jobs": _rounded_runs(jobs),
        "gpu_hours": hours,
        # Of what is shown: rounded apart from each other, use and what was measured would contradict the unused hours.
        "efficiency_score": _score(used, used + unused),
        "unused_gpu_hours": unused,
        "advice_gpu_hours": advice,
        "advice_fraction": None if advice is None else _fraction(advice, hours),
        "classes_by_gpu_hours": _shares([_shown(column(people, name), step) for name in sums.HOURS_OF]),
        "classes_by_jobs": _shares([_shown(column(people, name), _step_of_runs(jobs)) for name in sums.JOBS_OF]),
        "flag": flag,
        "coverage_fraction": min(_fraction(measured, hours) or 0.0, 1.0),
        "followed_runs": _rounded_runs(column(people, "followed_runs")),
        "followed_gpu_hours": _shown(column(people, "followed_gpu_hours"), step),
    }
    hidden = [name for name, value in found.items() if value is None and name != "efficiency_score"]
    return _with_suggestion(found, hidden, score_range_percent(used, unused, step))


def without_classes(figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of a project whose shares of classes would reveal withheld ones."""
    hidden = sorted({*figures["withheld_columns"], *SHARES}, key=FIGURES.index)
    withheld = {"withheld_columns": hidden, "withheld_columns_reason": GROUP_RULE}
    return {**figures, **dict.fromkeys(SHARES), **withheld}


def without_job_figures(figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of a user as they are shown: those of `OF_FEW_JOBS` withheld below `JOBS_MIN` shown jobs.

    The shown number decides, not the own one: of 5 users in one band the one with more jobs would stand out.
    """
    if figures["jobs"] >= JOBS_MIN:
        return figures
    withheld = {"withheld_columns": list(OF_FEW_JOBS), "withheld_columns_reason": FEW_JOBS}
    return {**figures, **dict.fromkeys(OF_FEW_JOBS), **withheld}


def user_figures(people: PolicySums, flags: Sequence[bool]) -> list[Mapping[str, Any]] | Withheld:
    """`FIGURES` of each user of a month, (U, `sums.NAMES`), in their order; the reason where all are withheld.

    `flags` are U: whether each had a flag at the end of the month.
    """
    jobs, hours = column(people, "jobs").tolist(), column(people, "gpu_hours").tolist()
    found: list[Mapping[str, Any]] = [{}] * len(jobs)
    if len(jobs) < GROUP_USERS_MIN:
        return Withheld.FEW_PEOPLE
    for few_or_many in _split(jobs):
        bands = banded([hours[place] for place in few_or_many])
        for band in set(bands):
            members = [place for place, each in zip(few_or_many, bands, strict=True) if each == band]
            for place, least_jobs in zip(members, banded([jobs[place] for place in members]), strict=True):
                found[place] = _user(people[place], flags[place], band, least_jobs)
    return found


def _split(jobs: Sequence[float]) -> list[list[int]]:
    """The places of users with too few runs for a suggestion, and of the others, if these are enough people each."""
    few = [place for place, count in enumerate(jobs) if count < JOBS_MIN]
    many = [place for place, count in enumerate(jobs) if count >= JOBS_MIN]
    parts = [part for part in (few, many) if part]
    return parts if min(map(len, parts)) >= GROUP_USERS_MIN else [list(range(len(jobs)))]


def _user(row: PolicySums, flag: bool, hours: float, jobs: float) -> Mapping[str, Any]:
    """One user, by the least GPU-hours and runs of the bands they share with others."""
    own = dict(zip(sums.NAMES, row.tolist(), strict=True))
    unused, advice = (_fraction(own[name], own["gpu_hours"]) or 0.0 for name in ("unused", "advice"))
    found = {
        "jobs": round(jobs),
        "gpu_hours": hours,
        "efficiency_score": _score(own["used"], own["measured"]),
        "unused_gpu_hours": round(unused * hours, 1),
        "advice_gpu_hours": round(advice * hours, 1),
        "advice_fraction": advice,
        "classes_by_gpu_hours": _shares([own[name] for name in sums.HOURS_OF], USER_DIGITS),
        "classes_by_jobs": _shares([own[name] for name in sums.JOBS_OF], USER_DIGITS),
        "flag": flag,
        "coverage_fraction": min(_fraction(own["measured"], own["gpu_hours"]) or 0.0, 1.0),
        "followed_runs": round(lower_bound(own["followed_runs"])),
        "followed_gpu_hours": lower_bound(own["followed_gpu_hours"]),
    }
    return without_job_figures(_with_suggestion(found, []))


def _with_suggestion(
    found: dict[str, Any], hidden: Sequence[str], range_percent: tuple[float, float] | None = None
) -> Mapping[str, Any]:
    suggested = multiplier(found["efficiency_score"], found["coverage_fraction"], found["jobs"], range_percent)
    why = GROUP_RULE if hidden else None
    withheld = {"withheld_columns": list(hidden), "withheld_columns_reason": why}
    return {**withheld, **found, "suggested_multiplier": suggested}


def _shown(values: PolicySums, step: float) -> float | None:
    """The rounded sum of one number of each person; None where it may not be shown, unless it is rounded to nothing."""
    found = rounded(float(values.sum()), step)
    return None if found and reason_of(values) else found


def _step_of_runs(runs: PolicySums) -> float:
    return max(step_of(runs), 1.0)


def _rounded_runs(runs: PolicySums) -> int | None:
    shown = _shown(runs, _step_of_runs(runs))
    return None if shown is None else round(shown)


def _score(used: float, measured: float) -> float | None:
    """Use in whole percent, weighted by GPU-hours; None where nothing was measured."""
    return float(min(round(used / measured * 100), 100)) if measured else None


def _fraction(part: float, whole: float) -> float | None:
    return round(part / whole, 2) if whole else None


def _shares(values: Sequence[float | None], digits: int = 2) -> dict[str, float] | None:
    """The classes as parts of their sum; None where one of them is withheld, or there is nothing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not sum(known):
        return None
    steps = whole_steps(known, 10**digits)
    return {name.lower(): round(each / 10**digits, digits) for name, each in zip(sums.CLASSES, steps, strict=True)}


def whole_steps(values: Sequence[float], steps: int) -> list[int]:
    """The values as parts of their sum in whole steps, `steps` in all: what is left goes to the largest remainders.

    Each part is rounded down or up, and so as coarse as one that is rounded alone.

    >>> whole_steps([1.0, 1.0, 1.0, 0.0], 10), whole_steps([7.0, 8.0], 10)
    ([4, 3, 3, 0], [5, 5])
    """
    exact = [value / sum(values) * steps for value in values]
    found = [math.floor(each) for each in exact]
    by_remainder = sorted(range(len(values)), key=lambda place: found[place] - exact[place])
    for place in by_remainder[: steps - sum(found)]:
        found[place] += 1
    return found
