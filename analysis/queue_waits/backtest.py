"""Estimates of waits made again for stored runs, each from what was known at its submission, beside two baselines."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.queue_waits.baselines import Baselines
from analysis.queue_waits.ranges import ERRORS_S, Band, Held, band_of, ends, factor_off, held_of
from analysis.queue_waits.rule import (
    DAY_S,
    WAIT_S_MIN,
    Asked,
    Chosen,
    Floats,
    Starts,
    Whole,
    quantile,
    starts_of,
    typical_wait,
)

EVALUATED_MAX = 5000
"""Of more runs of a partition evenly spaced ones are estimated again: this bounds the time, about 0.3 ms each."""

METHODS = ("kaiku", "partition, 14 days", "last five starts")
ALL = ""
"""The name under which a cluster's partitions are taken together."""


@dataclass(frozen=True)
class Backtested:
    """The estimates of one partition, in the order of submission; every column has the shape (J,), NaN without one.

    `typical_s`, `low_s` and `high_s` have a row for each of `METHODS`, the shape (3, J). `held` is how many runs were
    left out because something else than the queue delayed them.
    """

    submitted_s: Floats
    started_s: Floats
    known_s: Floats
    wait_s: Floats
    submission: Whole
    typical_s: Floats
    low_s: Floats
    high_s: Floats
    held: int

    @property
    def ratios(self) -> Floats:
        """The wait divided by the typical wait that was estimated for it."""
        made: Floats = np.maximum(self.wait_s, WAIT_S_MIN) / self.typical_s[0]
        return made

    @property
    def is_answered(self) -> Chosen:
        answered: Chosen = ~np.isnan(self.low_s[0])
        return answered


@dataclass(frozen=True)
class Score:
    """How good one method was where an answer was given: by job, and with each submission counting once."""

    factor_off: float
    within_two: float
    coverage: float
    submission_factor_off: float
    submission_within_two: float
    submission_coverage: float


@dataclass(frozen=True)
class PartitionScore:
    """The backtest of one partition, or of all of a cluster (`ALL`); `scores` is empty where nothing was answered."""

    partition: str
    jobs: int
    held: int
    answered: int
    submissions: int
    scores: Mapping[str, Score]


def backtest(partitions: Mapping[str, Starts], since_s: float = float("-inf")) -> dict[str, Backtested]:
    """The estimates for the runs of each partition of one cluster that were submitted since."""
    tested = {name: _typical(starts, since_s) for name, starts in partitions.items()}
    pooled = _pooled(tested)
    for one in tested.values():
        days = np.floor(one.submitted_s / DAY_S)
        for day in np.unique(days):
            at_s = float(day * DAY_S)
            # Where its own errors are too few, those of its whole cluster count.
            band = _band(one, at_s) or _band(pooled, at_s)
            if band is not None:
                of_day = (days == day) & ~np.isnan(one.typical_s[0])
                one.low_s[0, of_day], one.high_s[0, of_day] = ends(one.typical_s[0, of_day], band)
    return tested


def _band(one: Backtested, at_s: float) -> Band | None:
    """The range from the errors known at a time; None where there are too few."""
    is_recent = (one.known_s <= at_s) & (one.started_s > at_s - ERRORS_S)
    return band_of(one.ratios[is_recent], one.submission[is_recent])


def bands(tested: Mapping[str, Backtested], at_s: float) -> Iterator[tuple[str, Band, Held]]:
    """What estimates from this time on use: the ranges of each partition with enough errors, and `ALL` for the others.

    Each with how well its ranges held in the backtest; left out where too few were checked.
    """
    for name, one in {**tested, ALL: _pooled(tested)}.items():
        band, answered = _band(one, at_s), one.is_answered
        wait_s = np.maximum(one.wait_s, WAIT_S_MIN)
        within = ((one.low_s[0] <= wait_s) & (wait_s <= one.high_s[0]))[answered]
        held = held_of(one.wait_s[answered], one.typical_s[0][answered], within, one.submission[answered])
        if band is not None and held is not None:
            yield name, band, held


def scores(tested: Mapping[str, Backtested]) -> Iterator[PartitionScore]:
    """Each partition, the largest first, then all together."""
    ordered = sorted(tested.items(), key=lambda item: (-len(item[1].wait_s), item[0]))
    for name, one in [*ordered, (ALL, _pooled(tested))]:
        answered = one.is_answered
        count = int(answered.sum())
        found = {method: _score(one, row, answered) for row, method in enumerate(METHODS) if count}
        yield PartitionScore(name, len(one.wait_s), one.held, count, len(np.unique(one.submission[answered])), found)


def _score(one: Backtested, row: int, answered: Chosen) -> Score:
    wait_s = np.maximum(one.wait_s[answered], WAIT_S_MIN)
    off = factor_off(wait_s, one.typical_s[row, answered])
    within = (one.low_s[row, answered] <= wait_s) & (wait_s <= one.high_s[row, answered])
    submission = one.submission[answered]
    once = 1.0 / np.bincount(submission)[submission]
    return Score(
        float(np.median(off)),
        float(np.mean(off <= 2)),
        float(np.mean(within)),
        quantile(off, once, 0.5),
        float(np.average(off <= 2, weights=once)),
        float(np.average(within, weights=once)),
    )


def _typical(starts: Starts, since_s: float) -> Backtested:
    """The typical waits of one partition; the ranges of the baselines, but not yet those of the estimates."""
    order = np.argsort(starts.submitted_s, kind="stable")
    order = order[starts.submitted_s[order] >= since_s]
    order = order[:: max(-(-len(order) // EVALUATED_MAX), 1)]
    low_s, typical_s, high_s = np.full((3, len(METHODS), len(order)), np.nan)
    baselines, before = Baselines(starts), None
    for place, row in enumerate(order):
        asked = asked_of(starts, int(row))
        if asked == before:
            # The tasks of an array are asked about once.
            for column in (low_s, typical_s, high_s):
                column[:, place] = column[:, place - 1]
            continue
        before, made = asked, typical_wait(starts, asked)
        others = baselines.quantiles(asked.at_s), baselines.last_five(asked)
        if made is None:
            continue
        typical_s[0, place] = made.wait_s
        for method, other in enumerate(others, start=1):
            if other is not None:
                low_s[method, place], typical_s[method, place], high_s[method, place] = other
    return Backtested(
        submitted_s=starts.submitted_s[order],
        started_s=starts.started_s[order],
        known_s=starts.known_s[order],
        wait_s=starts.wait_s[order],
        submission=starts.submission[order],
        typical_s=typical_s,
        low_s=low_s,
        high_s=high_s,
        held=starts.held,
    )


def asked_of(starts: Starts, row: int) -> Asked:
    """One of the starts as it would have been asked about at its submission."""
    limit_s = float(starts.limit_s[row])
    return Asked(
        gpus=int(starts.gpus[row]),
        nodes=int(starts.nodes[row]),
        limit_s=None if math.isnan(limit_s) else limit_s,
        project=int(starts.project[row]),
        user=int(starts.user[row]),
        at_s=float(starts.submitted_s[row]),
    )


def _pooled(tested: Mapping[str, Backtested]) -> Backtested:
    """All partitions of a cluster together; submissions keep apart."""
    parts = list(tested.values())
    if not parts:
        return _typical(starts_of([]), 0.0)
    first_of = np.cumsum([0, *(int(one.submission.max(initial=-1)) + 1 for one in parts)])
    submission = [one.submission + first for one, first in zip(parts, first_of[:-1], strict=True)]
    return Backtested(
        submitted_s=np.concatenate([one.submitted_s for one in parts]),
        started_s=np.concatenate([one.started_s for one in parts]),
        known_s=np.concatenate([one.known_s for one in parts]),
        wait_s=np.concatenate([one.wait_s for one in parts]),
        submission=np.concatenate(submission),
        typical_s=np.concatenate([one.typical_s for one in parts], axis=1),
        low_s=np.concatenate([one.low_s for one in parts], axis=1),
        high_s=np.concatenate([one.high_s for one in parts], axis=1),
        held=sum(one.held for one in parts),
    )
