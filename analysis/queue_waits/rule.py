"""How long a job like this one would wait in the queue: the waits of earlier starts, those most like it first.

The typical wait is the weighted median of the waits of comparable starts: recent ones and those of the own project
count more, many jobs that were submitted together count less. The range around it is as wide as earlier estimates of
the same kind were off (`ranges`). A wait is never turned into a clock time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.feedback import GROUP_USERS_MIN, USER_FRACTION_MAX
from jobs.records import QUEUE_WAIT_S_MAX

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Chosen = NDArray[np.bool_]

STARTS_MIN = 15
"""Nothing is estimated from fewer comparable starts (issue "the advice where the next job is written")."""

STARTS_MAX = 3000
"""As many of the latest starts of a partition are read."""

DAY_S, HOUR_S = 86_400.0, 3600.0
WINDOW_S = 60 * DAY_S
"""Older starts are not read: priorities and limits of a partition change with the allocation periods."""

HELD_S = 60.0
"""A job that could start longer than this after its submission was held by `--begin`, a dependency, a hold or the limit
of its array; it did not wait as a job does that may start at once. Slurm writes both times within 3 s otherwise."""

HELD: tuple[float, ...] = ()

WAIT_S_MIN = 60.0
"""Shorter waits count as this long: Slurm itself takes about a minute (slurm.conf(5), `sched_interval` 60 s)."""

HALF_LIFE_S = 7 * DAY_S
OWN_PROJECT_WEIGHT = 5.0
ALIKE_FACTOR = 2.0
"""Chosen on the earlier half of the real trace: docs/queue-waits.md has the figures of the later half."""


class Alike(StrEnum):
    """How like the asked job the starts are: the first kind of which there are enough counts."""

    SIZE_AND_LIMIT = "size_and_limit"
    SIZE = "size"
    PARTITION = "partition"


class Start(NamedTuple):
    """One start as it is stored; times in seconds since 1970, None where unknown. `user` and `project` are keys."""

    submitted_s: float | None
    eligible_s: float | None
    started_s: float | None
    ended_s: float | None
    gpus: int | None
    nodes: int | None
    limit_s: float | None
    project: int
    user: int


@dataclass(frozen=True)
class Asked:
    """What is asked about: a request in one partition, at a time. `limit_s` None where the job sets no time limit."""

    gpus: int
    nodes: int
    limit_s: float | None
    project: int | None
    user: int | None
    at_s: float


@dataclass(frozen=True)
class Starts:
    """N starts of one partition in the order of their start; every column has the shape (N,).

    `known_s` is when the portal could know of a start: at the end of the run, when its record is sent. `limit_s` is NaN
    where unknown. `submission` numbers what one person submitted in one clock hour with the same request: an array, or
    a loop around sbatch. `held` is how many starts were left out because something else than the queue delayed them.
    """

    submitted_s: Floats
    started_s: Floats
    known_s: Floats
    wait_s: Floats
    gpus: Floats
    nodes: Floats
    limit_s: Floats
    project: Whole
    user: Whole
    submission: Whole
    held: int = 0

    def __len__(self) -> int:
        return len(self.wait_s)

    def known_at(self, at_s: float) -> Whole:
        """Which of them could be known at this time, the latest `STARTS_MAX` of the window; positions, shape (n,)."""
        first, end = np.searchsorted(self.started_s, [at_s - WINDOW_S, at_s], side="right")
        found: Whole = np.flatnonzero(self.known_s[first:end] <= at_s)[-STARTS_MAX:] + first
        return found


@dataclass(frozen=True)
class Typical:
    """The typical wait in seconds, from `starts` comparable ones of `people` people."""

    wait_s: float
    starts: int
    people: int
    alike: Alike


def starts_of(rows: Iterable[Start]) -> Starts:
    """The rows that show a wait in the queue; the others are left out: held, never started, impossible times."""
    waits = [wait for wait in map(_wait_of, rows) if wait is not None]
    kept = sorted((wait for wait in waits if wait is not HELD), key=lambda wait: wait[1])
    columns = np.array(kept, dtype=float).reshape(-1, 9).T
    submitted_s, started_s, known_s, wait_s, gpus, nodes, limit_s, project, user = columns
    together = np.stack([user, np.floor(submitted_s / HOUR_S), gpus, nodes, np.nan_to_num(limit_s, nan=-1)])
    return Starts(
        submitted_s=submitted_s,
        started_s=started_s,
        known_s=known_s,
        wait_s=wait_s,
        gpus=gpus,
        nodes=nodes,
        limit_s=limit_s,
        project=project.astype(int),
        user=user.astype(int),
        submission=np.unique(together, axis=1, return_inverse=True)[1].reshape(-1).astype(int),
        held=len(waits) - len(kept),
    )


def _wait_of(row: Start) -> tuple[float, ...] | None:
    """The columns of `Starts` for one row but its submission; `HELD` if it was, None where it shows no wait."""
    if row.eligible_s is None or row.started_s is None or row.ended_s is None:
        return None
    submitted_s = row.eligible_s if row.submitted_s is None else row.submitted_s
    wait_s, held_s = row.started_s - row.eligible_s, row.eligible_s - submitted_s
    if not (0 <= wait_s <= QUEUE_WAIT_S_MAX and row.ended_s >= row.started_s and held_s >= -HELD_S):
        return None
    if held_s > HELD_S:
        return HELD
    limit_s = np.nan if row.limit_s is None else row.limit_s
    size = float(row.gpus or 0), float(row.nodes or 1), limit_s
    return submitted_s, row.started_s, row.ended_s, wait_s, *size, float(row.project), float(row.user)


def typical_wait(starts: Starts, asked: Asked) -> Typical | None:
    """The typical wait of starts like the asked job that were known when it is asked; None where too few are.

    >>> rows = [Start(0, 0, 600 * k, 9000, 1, 1, 3600, k % 5, k % 5) for k in range(1, 16)]
    >>> typical_wait(starts_of(rows), Asked(1, 1, 3600, None, None, 9000))
    Typical(wait_s=4800.0, starts=15, people=5, alike=<Alike.SIZE_AND_LIMIT: 'size_and_limit'>)
    """
    known = starts.known_at(asked.at_s)
    for alike, chosen in _kinds(starts, known, asked):
        which = known[chosen]
        if len(which) < STARTS_MIN:
            continue
        found = _weighted(starts, which, asked)
        if found is None:
            continue
        weights, people = found
        wait_s = quantile(starts.wait_s[which], weights, 0.5)
        return Typical(max(wait_s, WAIT_S_MIN), len(which), people, alike)
    return None


def _weighted(starts: Starts, which: Whole, asked: Asked) -> tuple[Floats, int] | None:
    """The weight of each start and how many people they are of; None where they could tell about one other person."""
    weights = np.exp2((starts.started_s[which] - asked.at_s) / HALF_LIFE_S) * together_weights(starts.submission[which])
    own = (
        np.where(starts.project[which] == asked.project, OWN_PROJECT_WEIGHT, 1.0) if asked.project is not None else 1.0
    )
    # Where a colleague would have most of the weight, the own project counts as any other.
    for weighted in (weights * own, weights):
        people = people_of(starts.user[which], weighted, asked.user)
        if people is not None:
            return weighted, people
    return None


def _kinds(starts: Starts, known: Whole, asked: Asked) -> Iterable[tuple[Alike, Chosen]]:
    """Each kind of likeness with the known starts that have it, from the most to the least alike."""
    if asked.limit_s is not None:
        yield Alike.SIZE_AND_LIMIT, is_like(starts, known, asked)
    yield Alike.SIZE, is_like(starts, known, replace(asked, limit_s=None))
    yield Alike.PARTITION, np.ones(len(known), dtype=bool)


def is_like(starts: Starts, known: Whole, asked: Asked) -> Chosen:
    """Which of these starts requested about as many GPUs and nodes, and about the same limit if one is asked."""
    like = _is_near(starts.gpus[known], asked.gpus) & _is_near(starts.nodes[known], asked.nodes)
    return like if asked.limit_s is None else like & _is_near(starts.limit_s[known], asked.limit_s)


def _is_near(values: Floats, asked: float) -> Chosen:
    """Which are at most `ALIKE_FACTOR` away; none is like zero but zero, and an unknown one is like nothing."""
    near: Chosen = (values <= asked * ALIKE_FACTOR) & (values >= asked / ALIKE_FACTOR)
    return near


def people_of(users: Whole, weights: Floats, own: int | None) -> int | None:
    """How many people the starts are of; None where a figure of them could tell about one other person.

    Nobody but the asking person may have most of the weight. Starts of the asking person alone may be shown to them.
    """
    keys, of = np.unique(users, return_inverse=True)
    parts = np.bincount(of.reshape(-1), weights)
    others = parts if own is None else parts[keys != own]
    if len(others) == 0:
        return 1
    is_shown = len(keys) >= GROUP_USERS_MIN and others.max() <= USER_FRACTION_MAX * parts.sum()
    return len(keys) if is_shown else None


def together_weights(submission: Whole) -> Floats:
    """The weight of each of them: n of one submission together count as much as √n single ones."""
    counts = np.bincount(submission)[submission]
    weights: Floats = 1.0 / np.sqrt(counts)
    return weights


def quantile(values: Floats, weights: Floats, fraction: float) -> float:
    """The smallest value up to which this fraction of the weight lies.

    >>> quantile(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), 0.5)
    2.0
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = int(np.searchsorted(reached, fraction * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(at, len(order) - 1)]])
