"""An attack on the anonymised rows: who knows people's runs exactly looks for the rows of each of them.

`python -m bench.linking` anonymises a month of the demo's people, of many such people, and of drawn ones, as a portal
does, and prints how often the attack succeeds. `python -m bench.linking 2026-10` takes the runs of that month from the
portal's database instead.

The attacker is a colleague, a group leader or an operator with the accounting of the whole site: of every run of a
person the project, program, science field, partition, GPUs, exact run time, day, end, exact use and memory are known,
and how the rows are made. Not known is the secret of the keys, which nobody has.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

import django

django.setup()

import numpy as np  # noqa: E402

from analysis.anonymous.bands import COLUMNS, SHAPE, Run, finest  # noqa: E402
from analysis.anonymous.grouping import Anonymised, anonymised  # noqa: E402
from analysis.anonymous.selectors import runs_to_anonymise  # noqa: E402
from bench.linking_people import drawn_people, sample_month  # noqa: E402
from portal.charts.programs import program_codes  # noqa: E402

SUCCESS_MAX = 0.2
"""Five people share each combination, so nobody's row is found more often than once in five."""


@dataclass(frozen=True)
class Result:
    """What the attack found. Chances are of the best guess, for the person for whom it is best, and the mean of all.

    `class_certain` people: the rows of everybody with the same kind of work as theirs have one class.
    `unique_if_linked` people would be alone with their rows if a key linked these.
    """

    people: int
    runs: int
    rows: int
    people_with_rows: int
    chance_max: float
    chance_mean: float
    guesses_right: float
    class_certain: int
    unique_if_linked: int
    withheld: Mapping[str, int]

    def lines(self) -> Iterator[str]:
        yield f"{self.people} people, {self.runs} runs: {self.rows} rows of {self.people_with_rows} people"
        yield f"withheld (people and reason): {dict(self.withheld) or 'nobody'}"
        yield f"best guess which row is a person's: {self.chance_mean:.3f} on average, {self.chance_max:.3f} at most"
        yield f"guesses that were right when tried: {self.guesses_right:.3f}"
        yield f"people whose class follows from their kind of work: {self.class_certain}"
        yield f"people who would be alone if one key linked all their rows: {self.unique_if_linked}"


def attack(runs: Sequence[Run], made: Anonymised, seed: int = 1) -> Result:
    """Look for everybody's rows: a run fits the groups that contain its values; the smallest one is guessed from."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in made.rows:
        groups[row.values].append(row.owner)
    fitting = _Fitting(groups)
    dice = np.random.default_rng(seed)
    chances: dict[int, float] = {}
    right = tried = 0
    for person, own in _by_person(runs).items():
        for values in own:
            found = fitting.of(values)
            if not found:
                continue
            chances[person] = max(
                chances.get(person, 0.0), *(groups[each].count(person) / len(groups[each]) for each in found)
            )
            smallest = groups[min(found, key=lambda each: len(groups[each]))]
            tried, right = tried + 1, right + (smallest[int(dice.integers(len(smallest)))] == person)
    return Result(
        people=len(_by_person(runs)),
        runs=len(runs),
        rows=len(made.rows),
        people_with_rows=len({row.owner for row in made.rows}),
        chance_max=max(chances.values(), default=0.0),
        chance_mean=float(np.mean(list(chances.values()))) if chances else 0.0,
        guesses_right=right / tried if tried else 0.0,
        class_certain=_class_certain(made),
        unique_if_linked=_unique_if_linked(made),
        withheld={str(why): count for why, count in made.withheld.items()},
    )


def _by_person(runs: Iterable[Run]) -> dict[int, set[tuple[str, ...]]]:
    found: dict[int, set[tuple[str, ...]]] = defaultdict(set)
    for run in runs:
        found[run.person].add(finest(run))
    return found


class _Fitting:
    """Which groups a run may be in. The tables are the attacker's own reading of the bands."""

    def __init__(self, groups: Iterable[tuple[str, ...]]) -> None:
        self._by_gpu: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for values in groups:
            self._by_gpu[values[COLUMNS.index("gpu")]].append(values)
        self._found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}

    def of(self, values: tuple[str, ...]) -> list[tuple[str, ...]]:
        if values not in self._found:
            gpu = values[COLUMNS.index("gpu")]
            near = [each for name in {gpu, "other", "any"} for each in self._by_gpu.get(name, ())]
            self._found[values] = [each for each in near if all(map(_contains, each, values))]
        return self._found[values]


def _contains(shown: str, exact: str) -> bool:
    """Whether a value of a row covers one of a run; `other` may be anything.

    >>> _contains("2-8", "5-8"), _contains("9-64", "5-8"), _contains("not_completed", "failed"), _contains("24+", "48+")
    (True, False, True, True)
    """
    if shown in (exact, "any", "other"):
        return True
    if shown == "not_completed":
        return exact != "completed"
    ends, inside = _ends(shown), _ends(exact)
    return bool(ends and inside and ends[0] <= inside[0] and inside[1] <= ends[1])


def _ends(band: str) -> tuple[float, float] | None:
    low, _, high = band.removesuffix("+").partition("-")
    if not low.isdigit():
        return None
    return float(low), float("inf") if band.endswith("+") else float(high or low)


def _class_certain(made: Anonymised) -> int:
    """People with a row whose kind of work and end has one known class alone in the file."""
    kinds = [COLUMNS.index(column) for column in (*SHAPE, "ending")]
    place = COLUMNS.index("efficiency_class")
    classes: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in made.rows:
        classes[tuple(row.values[each] for each in kinds)][row.values[place]] += 1
    certain = {kind for kind, found in classes.items() if len(found) == 1 and not {"any", "UNKNOWN"} & found.keys()}
    return len({row.owner for row in made.rows if tuple(row.values[each] for each in kinds) in certain})


def _unique_if_linked(made: Anonymised) -> int:
    rows_of: dict[int, set[tuple[str, ...]]] = defaultdict(set)
    for row in made.rows:
        rows_of[row.owner].add(row.values)
    alike = Counter(frozenset(rows) for rows in rows_of.values())
    return sum(1 for count in alike.values() if count == 1)


def main(arguments: Sequence[str]) -> int:
    """Attack each population, or a month of the database; 1 where the attack is better than one guess in five."""
    if arguments:
        populations = {arguments[0]: list(runs_to_anonymise(date.fromisoformat(f"{arguments[0]}-01"), program_codes()))}
    else:
        populations = {"people of the demo": list(sample_month(15, 2, 400))}
        populations["many such people"] = list(sample_month(200, 60, 3000))
        populations |= {f"{people} drawn people": list(drawn_people(people)) for people in (60, 250, 1000)}
    results = {name: attack(runs, anonymised(runs, secrets.token_bytes(32))) for name, runs in populations.items()}
    for name, result in results.items():
        print(name, *result.lines(), sep="\n  ", end="\n\n")
    return int(any(result.chance_max > SUCCESS_MAX for result in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
