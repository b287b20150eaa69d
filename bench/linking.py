"""An attack on the anonymised rows: who knows people's runs exactly looks for the rows of each of them.

`python -m bench.linking` makes a month of people with habits, anonymises it as a portal does, and prints how often the
attack succeeds. `python -m bench.linking 2026-10` takes the runs of that month from the portal's database instead.

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

SUCCESS_MAX = 0.2
"""Five people share each combination, so nobody's row is found more often than once in five."""

PROGRAMS = ("gromacs", "pytorch", "lammps", "cp2k", "vllm", "unknown", "unknown")
FIELDS = ("Physical sciences", "Biology", "Computer science", "Chemistry")
STATES = ("COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY")
CLASSES = ((70.0, "EFFICIENT"), (40.0, "ACCEPTABLE"), (15.0, "INEFFICIENT"), (0.0, "WASTED"))
CODES = {"EFFICIENT": ("none", "walltime_overrequest"), "ACCEPTABLE": ("none", "load_imbalance", "kernel_tuning")}
CODES |= {"INEFFICIENT": ("overscaling", "cpu_bottleneck", "none"), "WASTED": ("no_gpu_use", "idle_gpus", "none")}


def population(people: int, seed: int = 1) -> Iterator[Run]:
    """A month of runs: each person has a program, usual sizes and a usual use; some run very much, some once."""
    dice = np.random.default_rng(seed)
    for person in range(people):
        projects = dice.choice(max(people // 4, 5), size=int(dice.integers(1, 3)), replace=False)
        program, field = dice.choice(PROGRAMS), dice.choice(FIELDS)
        size, use = int(2 ** dice.integers(0, 7)), float(dice.uniform(2, 98))
        for _ in range(1 + int(dice.pareto(1.1) * 6) % 400):
            use_now = float(np.clip(use + dice.normal(0, 12), 0, 100))
            hours = float(np.clip(dice.lognormal(1.2, 1.3), 0.1, 72))
            efficiency_class = next(name for least, name in CLASSES if use_now >= least)
            yield Run(
                person=person,
                project=int(dice.choice(projects)),
                gpu_hours=size * hours / 2,
                program=str(program),
                science_field=str(field),
                gpu="AMD MI250X GCD",
                partition_type="whole_nodes" if size >= 8 else "shared",
                gpus=size if dice.random() < 0.8 else int(dice.integers(1, 300)),
                run_time_h=hours,
                state=str(dice.choice(STATES)),
                efficiency_class=efficiency_class,
                gpu_use_percent=use_now,
                gpu_memory_percent=float(dice.uniform(0, 100)),
                finding=str(dice.choice(CODES[efficiency_class])),
            )


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
        populations = [list(runs_to_anonymise(date.fromisoformat(f"{arguments[0]}-01")))]
    else:
        populations = [list(population(people)) for people in (15, 60, 250, 1000)]
    results = [attack(runs, anonymised(runs, secrets.token_bytes(32))) for runs in populations]
    for result in results:
        print("\n".join(result.lines()), end="\n\n")
    return int(any(max(result.chance_max, result.guesses_right) > SUCCESS_MAX for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
