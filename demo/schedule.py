"""Who runs which kind of sample job when: habits, working weeks, arrays and requeued jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from types import MappingProxyType

import numpy as np

from demo.library import ARCHETYPES
from demo.people import Person

ARRAY_TASK, REQUEUED, REQUEUED_AGAIN = "array_task", "requeued", "requeued_again"
RUNS_OF_BUNDLE: Mapping[str, int] = MappingProxyType({ARRAY_TASK: 4, REQUEUED: 2})

# Names that a page, a terminal, a mail header or a spreadsheet could trip over.
HOSTILE_NAMES = (
    "<script>alert(1)</script>",
    "Tähtitiede_αβγ_模型_🚀",
    "'; DROP TABLE jobs_job; --",
    '=HYPERLINK("http://example.org","train")',
    "name\u202egpj.exe\x1b[31m",
    "two\nlines\r\nSubject: hello",
    "{{ secret_key }} ${HOME} %s",
    "x" * 300,
)

GOLDEN_RATIO = (5**0.5 - 1) / 2
INSTANTS_TRIED = 16
NEAR_DAYS = 3.0
WEEKEND_WEIGHT, NIGHT_WEIGHT = 0.2, 0.4
NIGHT_ENDS_HOUR, NIGHT_BEGINS_HOUR = 7, 22


@dataclass(frozen=True)
class Bundle:
    """Runs that belong together: one job, the tasks of one array, or both runs of a requeued job.

    An empty `job_name` leaves the choice to the kind.
    """

    kind: str
    person: Person
    ended_at: datetime
    runs: int
    job_name: str


@dataclass(frozen=True)
class Turn:
    """Someone's turn to run something at about this share of the period; no `kind` leaves it to habit."""

    person: Person
    elapsed_fraction: float
    kind: str = ""


def bundles(people: tuple[Person, ...], *, seed: int, jobs: int, until: datetime, days: int) -> list[Bundle]:
    """`jobs` runs in bundles, by the time they ended; every kind first, then whatever people's habits bring.

    Raises ValueError when `until` has no time zone.
    """
    if until.tzinfo is None:
        raise ValueError("until needs a time zone")
    rng = np.random.default_rng(seed)
    turns = chain(_kinds_once(people, rng), _turns(people, rng))
    names = iter(HOSTILE_NAMES)
    made: list[Bundle] = []
    while (left := jobs - sum(bundle.runs for bundle in made)) > 0:
        turn = next(turns)
        elapsed_fraction = _elapsed_fraction(rng, turn.elapsed_fraction, until, days)
        kind = turn.kind or _habitual_kind(turn.person, elapsed_fraction, rng)
        ended_at = until - timedelta(days=days * (1 - elapsed_fraction))
        runs = min(RUNS_OF_BUNDLE.get(kind, 1), left)
        made.append(Bundle(kind, turn.person, ended_at, runs, next(names, "")))
    return sorted(made, key=lambda bundle: bundle.ended_at)


def _kinds_once(people: tuple[Person, ...], rng: np.random.Generator) -> Iterator[Turn]:
    """Each kind with someone of mixed habits, so that nobody's story is disturbed."""
    mixed = [person for person in people if person.habit == "mixed"]
    for kind in ARCHETYPES:
        if kind != REQUEUED_AGAIN:
            yield Turn(mixed[int(rng.integers(len(mixed)))], float(rng.uniform()), kind)


def _turns(people: tuple[Person, ...], rng: np.random.Generator) -> Iterator[Turn]:
    """Everyone in turn as often as they are active, in an order that is dealt anew each time.

    The golden ratio spreads the instants of each person evenly, however many turns there will be.
    """
    deck = [index for index, person in enumerate(people) for _ in range(person.activity)]
    instants = rng.uniform(size=len(people))
    while True:
        for index in rng.permutation(deck).tolist():
            instants[index] = (instants[index] + GOLDEN_RATIO) % 1
            yield Turn(people[index], float(instants[index]))


def _habitual_kind(person: Person, elapsed_fraction: float, rng: np.random.Generator) -> str:
    weights = person.kind_weights(elapsed_fraction)
    shares = np.array(list(weights.values())) / sum(weights.values())
    return str(rng.choice(list(weights), p=shares))


def _elapsed_fraction(rng: np.random.Generator, about: float, until: datetime, days: int) -> float:
    """An instant near `about` as a share of the period: any, but on working days and in the daytime more often."""
    near = about + rng.uniform(-1, 1, INSTANTS_TRIED) * min(NEAR_DAYS / days, 1.0)
    tried = 1 - np.abs(1 - np.abs(near))  # reflected at both ends of the period
    weights = np.array([_weight(until - timedelta(days=days * (1 - share))) for share in tried.tolist()])
    return float(rng.choice(tried, p=weights / weights.sum()))


def _weight(moment: datetime) -> float:
    is_night = not NIGHT_ENDS_HOUR <= moment.hour < NIGHT_BEGINS_HOUR
    return (WEEKEND_WEIGHT if moment.weekday() >= 5 else 1.0) * (NIGHT_WEIGHT if is_night else 1.0)
