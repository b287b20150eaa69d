"""How good each rule of advice is: how often it was followed, and what that brought against what was claimed.

Of one month only sums over groups of people are kept (`month_figures`); `rule_records` adds up months and lists the
rules with a poor record.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from analysis.feedback import is_anonymous
from analysis.outcomes.following import Status
from analysis.site.suppression import rounded, step_of

CASES_MIN = 10
"""Fewer runs that followed and can be compared, or that followed at all, say nothing about a rule: of ten fair coins
at least nine fall on the same side in 2 % of all tries."""

REALISED_FRACTION_MIN = 0.5
"""Less of the claim than half is a poor record."""

CHANCE_MAX = 0.05
"""More failures than chance would produce this often at the normal rate are above normal."""

NORMAL_FAILURES_MIN = 0.01
"""The normal rate of failures is at least this: no failure among few runs is no proof of none among many."""

Rule = tuple[str, str]
"""The kind and the basis of a recommendation."""


@dataclass(frozen=True)
class Given:
    """One recommendation of one person, with what became of it; hours as in `following.Outcome`."""

    user: int
    kind: str
    basis: str
    status: str
    later_runs: int
    following_runs: int
    failed_runs: int
    other_failed_runs: int
    compared_runs: int
    claimed_gpu_hours: float | None
    realised_gpu_hours: float | None


class RuleFigures(msgspec.Struct):
    """One rule in one month, or over several.

    `answered` had a later run, of these `followed` were followed in full. `runs` are the later runs that followed,
    `failed` of them for memory or time, `other_failed` of `other_runs` that did not follow. The hours are of
    `compared` runs, None while they are withheld; `is_withheld` withholds everything.
    """

    kind: str
    basis: str
    is_withheld: bool = False
    given: int = 0
    answered: int = 0
    followed: int = 0
    runs: int = 0
    failed: int = 0
    other_runs: int = 0
    other_failed: int = 0
    compared: int = 0
    claimed_gpu_hours: float | None = None
    realised_gpu_hours: float | None = None


def month_figures(given: Iterable[Given]) -> list[RuleFigures]:
    """What may be kept of the advice of one month, rule by rule, in the order of their names."""
    by_rule: dict[Rule, list[Given]] = defaultdict(list)
    for each in given:
        by_rule[each.kind, each.basis].append(each)
    return [_figures(*rule, rows) for rule, rows in sorted(by_rule.items())]


def _figures(kind: str, basis: str, rows: Sequence[Given]) -> RuleFigures:
    """The sums of one rule; nothing unless those who followed and those who did not are both groups, or empty."""
    answered = [row for row in rows if row.later_runs]
    followed = [row for row in answered if row.status == Status.FOLLOWED]
    others = [row for row in answered if row.status != Status.FOLLOWED]
    if not all(
        _is_group([(row.user, 1.0) for row in part], may_be_empty=part is not rows)
        for part in (rows, answered, followed, others, [row for row in rows if not row.later_runs])
    ):
        return RuleFigures(kind, basis, is_withheld=True)
    figures = RuleFigures(
        kind,
        basis,
        given=len(rows),
        answered=len(answered),
        followed=len(followed),
        runs=sum(row.following_runs for row in followed),
        failed=sum(row.failed_runs for row in followed),
        other_runs=sum(row.later_runs - row.following_runs for row in answered),
        other_failed=sum(row.other_failed_runs for row in answered),
    )
    compared = [row for row in followed if row.compared_runs and row.claimed_gpu_hours]
    claimed = [(row.user, (row.claimed_gpu_hours or 0.0) * row.compared_runs) for row in compared]
    realised = [(row.user, row.realised_gpu_hours or 0.0) for row in compared]
    if _is_group(claimed) and _is_group([(user, abs(hours)) for user, hours in realised]):
        step = max(step_of(_by_person(claimed)), step_of(np.abs(_by_person(realised))))
        figures.compared = sum(row.compared_runs for row in compared)
        figures.claimed_gpu_hours = rounded(sum(hours for _, hours in claimed), step)
        figures.realised_gpu_hours = rounded(sum(hours for _, hours in realised), step)
    return figures


def _by_person(parts: Iterable[tuple[int, float]]) -> np.ndarray:
    sums: dict[int, float] = defaultdict(float)
    for user, part in parts:
        sums[user] += part
    return np.array(list(sums.values()))


def _is_group(parts: Sequence[tuple[int, float]], *, may_be_empty: bool = False) -> bool:
    """Whether the sum of these parts hides every person in it."""
    if not parts:
        return may_be_empty
    return is_anonymous([part for part in _by_person(parts).tolist() if part > 0])


@dataclass(frozen=True)
class RuleRecord:
    """One rule over all months that may be shown; `withheld_months` are not in it, `poor` why its record is poor."""

    sums: RuleFigures
    withheld_months: int
    poor: tuple[str, ...] = field(default=())

    @property
    def followed_fraction(self) -> float | None:
        return self.sums.followed / self.sums.answered if self.sums.answered else None

    @property
    def realised_fraction(self) -> float | None:
        """What following brought of what was claimed; below zero where it cost more."""
        claimed, realised = self.sums.claimed_gpu_hours, self.sums.realised_gpu_hours
        return realised / claimed if claimed and realised is not None else None


LITTLE_REALISED, MANY_FAILURES = "little_realised", "many_failures"


def rule_records(months: Iterable[Sequence[RuleFigures]]) -> list[RuleRecord]:
    """The rules over some months, poor ones first, then the most followed."""
    shown: dict[Rule, list[RuleFigures]] = defaultdict(list)
    withheld: dict[Rule, int] = defaultdict(int)
    for month in months:
        for row in month:
            if row.is_withheld:
                withheld[row.kind, row.basis] += 1
            else:
                shown[row.kind, row.basis].append(row)
    sums = {rule: _added(*rule, shown.get(rule, ())) for rule in shown.keys() | withheld.keys()}
    other_runs = sum(row.other_runs for row in sums.values())
    other_failed = sum(row.other_failed for row in sums.values())
    normal = max(other_failed / other_runs if other_runs else 0.0, NORMAL_FAILURES_MIN)
    records = [RuleRecord(row, withheld[rule], _poor(row, normal)) for rule, row in sums.items()]
    return sorted(records, key=lambda each: (not each.poor, -each.sums.followed, each.sums.kind, each.sums.basis))


def _added(kind: str, basis: str, rows: Sequence[RuleFigures]) -> RuleFigures:
    """The sums of these months, hours None where none is shown."""
    if not rows:
        return RuleFigures(kind, basis, is_withheld=True)
    counts = {
        name: sum(getattr(row, name) for row in rows)
        for name in ("given", "answered", "followed", "runs", "failed", "other_runs", "other_failed", "compared")
    }
    total = RuleFigures(kind, basis, **counts)
    if total.compared:
        total.claimed_gpu_hours = sum(row.claimed_gpu_hours or 0.0 for row in rows)
        total.realised_gpu_hours = sum(row.realised_gpu_hours or 0.0 for row in rows)
    return total


def _poor(row: RuleFigures, normal_fraction: float) -> tuple[str, ...]:
    found = []
    claimed, realised = row.claimed_gpu_hours, row.realised_gpu_hours
    if row.compared >= CASES_MIN and claimed and (realised or 0.0) < REALISED_FRACTION_MIN * claimed:
        found.append(LITTLE_REALISED)
    if row.runs >= CASES_MIN and chance_of_as_many(row.failed, row.runs, normal_fraction) < CHANCE_MAX:
        found.append(MANY_FAILURES)
    return tuple(found)


def chance_of_as_many(failed: int, runs: int, fraction: float) -> float:
    """How often at least `failed` of `runs` fail by chance where each fails with this probability, 0..1.

    >>> chance_of_as_many(0, 10, 0.1), round(chance_of_as_many(2, 2, 0.1), 4), round(chance_of_as_many(3, 10, 0.1), 4)
    (1.0, 0.01, 0.0702)
    """
    if failed <= 0 or fraction >= 1:
        return 1.0
    below = sum(math.exp(_log_chance(count, runs, fraction)) for count in range(failed))
    return max(1.0 - below, 0.0)


def _log_chance(count: int, runs: int, fraction: float) -> float:
    """The logarithm of the binomial probability of exactly `count`: for thousands of runs nothing overflows."""
    ways = math.lgamma(runs + 1) - math.lgamma(count + 1) - math.lgamma(runs - count + 1)
    return ways + count * math.log(fraction) + (runs - count) * math.log1p(-fraction)
