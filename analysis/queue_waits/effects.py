"""Whether a smaller request started sooner: jobs of both kinds in the same partition and the same weeks, as a range.

Nothing is said unless the data show it: at least 15 starts of at least 5 people of each kind, and a 95 % interval
that excludes "no sooner". People differ in their priority, so whole people are drawn again for the interval, not
single jobs.
"""

from dataclasses import dataclass, replace

import numpy as np

from analysis.queue_waits.rule import (
    DAY_S,
    STARTS_MIN,
    WAIT_S_MIN,
    Asked,
    Chosen,
    Floats,
    Starts,
    Whole,
    is_like,
    people_of,
    quantile,
    together_weights,
)

WEEK_S = 7 * DAY_S
WEEK_STARTS_MIN = 5
"""A week counts with at least this many starts of each kind."""

DRAWS, SEED = 1000, 1
OUTSIDE = 0.025
"""Left out at each end: the 95 % percentile interval of the bootstrap (Efron and Tibshirani 1993, chapter 13)."""


@dataclass(frozen=True)
class Smaller:
    """What is requested instead; None leaves it as it is."""

    limit_s: float | None = None
    gpus: int | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class Effect:
    """How many times longer jobs like the asked one waited than jobs like the smaller one; the low end is above 1.

    `starts` and `smaller_starts` are the numbers of starts compared.
    """

    low_factor: float
    typical_factor: float
    high_factor: float
    starts: int
    smaller_starts: int


@dataclass(frozen=True)
class _Compared:
    """Both kinds within the same weeks: natural logarithms of waits without what their week has in common, (n,)."""

    values: Floats
    weights: Floats
    user: Whole
    is_smaller: Chosen


def smaller_effect(starts: Starts, asked: Asked, smaller: Smaller) -> Effect | None:
    """By how much a smaller request started sooner in this partition, of the starts known when it is asked."""
    other = replace(
        asked,
        gpus=asked.gpus if smaller.gpus is None else smaller.gpus,
        nodes=asked.nodes if smaller.nodes is None else smaller.nodes,
        limit_s=asked.limit_s if smaller.limit_s is None else smaller.limit_s,
    )
    compared = _compared(starts, asked, other)
    if compared is None:
        return None
    shown = (_is_shown(compared, compared.is_smaller), _is_shown(compared, ~compared.is_smaller))
    if not all(shown):
        return None
    low, typical, high = np.exp(_differences(compared))
    if low <= 1:
        return None
    count = int(compared.is_smaller.sum())
    return Effect(float(low), float(typical), float(high), len(compared.values) - count, count)


def _compared(starts: Starts, asked: Asked, other: Asked) -> _Compared | None:
    known = starts.known_at(asked.at_s)
    as_asked, as_other = is_like(starts, known, asked), is_like(starts, known, other)
    which, is_smaller = known[as_asked ^ as_other], as_other[as_asked ^ as_other]
    weights = together_weights(starts.submission[which]) if len(which) else np.zeros(0)
    values = np.log(np.maximum(starts.wait_s[which], WAIT_S_MIN))
    used = np.zeros(len(which), dtype=bool)
    week_of = np.floor(starts.submitted_s[which] / WEEK_S)
    for week in (week_of == number for number in np.unique(week_of)):
        sides = week & is_smaller, week & ~is_smaller
        if min(side.sum() for side in sides) < WEEK_STARTS_MIN:
            continue
        values[week] -= sum(quantile(values[side], weights[side], 0.5) for side in sides) / 2
        used |= week
    if not used.any():
        return None
    return _Compared(values[used], weights[used], starts.user[which][used], is_smaller[used])


def _is_shown(compared: _Compared, side: Chosen) -> bool:
    people = people_of(compared.user[side], compared.weights[side], None)
    return int(side.sum()) >= STARTS_MIN and people is not None


def _differences(compared: _Compared) -> tuple[float, float, float]:
    """Low end, middle and high end of the difference of the medians, asked minus smaller."""
    _, person = np.unique(compared.user, return_inverse=True)
    person = person.reshape(-1)
    count = int(person.max()) + 1
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=DRAWS)
    draws = np.vstack([np.ones(count), drawn])[:, person] * compared.weights
    side = compared.is_smaller
    medians = [_medians(compared.values[kind], draws[:, kind]) for kind in (~side, side)]
    differences = medians[0] - medians[1]
    if np.isnan(differences).any():
        # One kind is of people who can all be missing in a draw: too few for an interval.
        differences = np.where(np.isnan(differences), -np.inf, differences)
    low, high = np.sort(differences[1:])[[int(DRAWS * OUTSIDE), int(DRAWS * (1 - OUTSIDE)) - 1]]
    return float(low), float(differences[0]), float(high)


def _medians(values: Floats, draws: Floats) -> Floats:
    """The weighted median for each row of weights, NaN where none has weight; values (n,), weights (D, n)."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(draws[:, order], axis=1)
    total = reached[:, -1:]
    at = np.argmax(reached >= total / 2 * (1 - 1e-12), axis=1)
    medians: Floats = np.where(total[:, 0] > 0, values[order][at], np.nan)
    return medians
