"""Which sums over groups of people may be shown, so that nobody can compute what a single person used.

A sum is shown if at least 5 people contribute, none of them more than 85 %, and two of them who know their own part
still cannot estimate a third one's. What a reader can compute by subtraction is a sum as well: what is withheld of a
table, and what remains of groups of one table without the groups of another that are inside them. As all these are
safe, so are their unions. Every shown sum is rounded to a step that grows with the largest person in it: a difference
that assumes more than these figures state (who joined or left, what everybody else used) stays a wide range.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from analysis.feedback import GROUP_USERS_MIN, USER_FRACTION_MAX

POOLED_PEOPLE = 2
"""This many people may pool what they know of themselves; one more of the group stays hidden from them."""

BLUR_FRACTION = 0.1
"""What everybody else used is at least this part of what the largest person used: domain wants more than 5 %."""

STEP_FRACTION = 0.2
"""A shown sum is rounded to a step of at least this part of its largest person."""

UNIONS_OF_ALL_MAX = 8
"""Up to this many groups every union of them is compared with another table; of more groups each pair."""

Parts = tuple[float, float, float]
"""GPU-hours used, unused and not measured; together they are the allocated ones."""

Atoms = dict[tuple[int, tuple[str, ...]], Parts]
"""The parts of each person in each combination of groups, one of each table."""

Sums = NDArray[np.float64]
"""A row for each person, a column for each of `Parts`."""


class Withheld(StrEnum):
    """Why a sum is not shown."""

    FEW_PEOPLE = "few_people"
    ONE_PERSON = "one_person"
    PEOPLE_TOGETHER = "people_together"
    OTHER_GROUP = "other_group"


@dataclass(frozen=True)
class Shown:
    """What is published of one group, rounded."""

    allocated: float
    used: float
    unused: float


@dataclass
class Table:
    """One way to divide the same runs into groups, and the groups that are withheld."""

    of_atom: NDArray[np.int64]
    names: tuple[str, ...]
    withheld: dict[int, Withheld] = field(default_factory=dict)

    @property
    def shown(self) -> list[int]:
        return [group for group in range(len(self.names)) if group not in self.withheld]

    def blocks(self) -> list[tuple[int, ...]]:
        """The groups whose sum is known: each shown one, and the withheld ones together, as the rest of the total."""
        hidden = tuple(sorted(self.withheld))
        return [*((group,) for group in self.shown), *([hidden] if hidden else [])]

    def mask(self, groups: Sequence[int]) -> NDArray[np.bool_]:
        """The atoms in any of these groups."""
        return np.isin(self.of_atom, groups)

    def beside(self, part: NDArray[np.bool_]) -> Iterator[tuple[list[int], NDArray[np.bool_]]]:
        """The groups inside a part of the atoms, and those that it touches, each with what it differs by."""
        inside = [block for block in self.blocks() if not np.any(self.mask(block) & ~part)]
        around = [block for block in self.blocks() if np.any(self.mask(block) & part)]
        for blocks in (inside, around):
            groups = [group for block in blocks for group in block]
            yield groups, part ^ self.mask(groups)


def add_parts(atoms: Atoms, person: int, groups: tuple[str, ...], parts: Parts) -> None:
    """Add the parts of one run."""
    used, unused, unmeasured = atoms.get((person, groups), (0.0, 0.0, 0.0))
    atoms[person, groups] = used + parts[0], unused + parts[1], unmeasured + parts[2]


def reason(sums: Sums, step: float | None = None) -> Withheld | None:
    """Why the sum of these people may not be shown; None where it may.

    A part that is not larger than the step of rounding is not checked: rounding leaves nothing of it. The step is
    `step_of` unless another is given.

    >>> reason(np.array([[1.0, 1.0, 0.0]] * 5)), reason(np.array([[1.0, 1.0, 0.0]] * 4)).value
    (None, 'few_people')
    """
    allocated = sums.sum(axis=1)
    least = step_of(allocated) if step is None else step
    parts = [part for part in sums.T if part.sum() > least]
    found = (reason_of(values) for values in (allocated, *parts))
    return next((why for why in found if why), None)


def reason_of(values: NDArray[np.float64]) -> Withheld | None:
    """The same for one number of each person.

    >>> reason_of(np.array([90.0, 3.0, 3.0, 2.0, 2.0])).value
    'one_person'
    """
    if np.count_nonzero(values > 0) < GROUP_USERS_MIN:
        return Withheld.FEW_PEOPLE
    largest = np.sort(values)[::-1]
    total = float(largest.sum())
    if largest[0] > USER_FRACTION_MAX * total:
        return Withheld.ONE_PERSON
    others = total - float(largest[: 1 + POOLED_PEOPLE].sum())
    return Withheld.PEOPLE_TOGETHER if others < BLUR_FRACTION * largest[0] else None


def step_of(allocated: NDArray[np.float64]) -> float:
    """The step of rounding: 1, 2 or 5 times a power of ten, at least a fifth of the largest person's hours.

    >>> step_of(np.array([100.0, 3.0])), step_of(np.array([26.0])), step_of(np.array([]))
    (20.0, 10.0, 1.0)
    """
    return nice_step(float(allocated.max(initial=0.0)) * STEP_FRACTION)


def nice_step(least: float) -> float:
    """The smallest step of 1, 2 or 5 times a power of ten that is at least this.

    >>> nice_step(3.0), nice_step(0.05), nice_step(0.0)
    (5.0, 0.05, 1.0)
    """
    if least <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-12))


def rounded(value: float, step: float) -> float:
    """The nearest multiple of a step.

    >>> rounded(137.0, 20.0), rounded(0.149, 0.05)
    (140.0, 0.15)
    """
    return round(round(value / step) * step, 9)


@dataclass(frozen=True)
class Runs:
    """Runs added up by person and by their group in each table: one atom for each combination that occurs."""

    people: NDArray[np.int64]
    parts: Sums
    tables: tuple[Table, ...]

    @cached_property
    def count(self) -> int:
        """The number of people."""
        return int(self.people.max(initial=-1)) + 1

    def sums(self, mask: NDArray[np.bool_]) -> Sums:
        """The parts of each person in these atoms."""
        people = self.people[mask]
        found = [np.bincount(people, self.parts[mask, part], minlength=self.count) for part in range(3)]
        return np.stack(found, axis=1)

    def why(self, mask: NDArray[np.bool_]) -> Withheld | None:
        return reason(self.sums(mask))

    def size(self, mask: NDArray[np.bool_]) -> float:
        """The allocated GPU-hours of these atoms."""
        return float(self.parts[mask].sum())

    def shown(self, mask: NDArray[np.bool_]) -> Shown:
        """The rounded sums of a group that may be shown."""
        sums = self.sums(mask)
        step = step_of(sums.sum(axis=1))
        used, unused, _ = sums.sum(axis=0)
        return Shown(rounded(self.size(mask), step), rounded(used, step), rounded(unused, step))


def runs_of(atoms: Atoms) -> Runs:
    """Atoms by (person, group in each table), as arrays."""
    numbers = {person: number for number, person in enumerate(sorted({person for person, _ in atoms}))}
    people = np.array([numbers[person] for person, _ in atoms], dtype=np.int64)
    parts = np.array(list(atoms.values()), dtype=np.float64).reshape(-1, 3)
    tables = []
    for of_atoms in zip(*(groups for _, groups in atoms), strict=True):
        names = tuple(sorted(set(of_atoms)))
        place = {name: number for number, name in enumerate(names)}
        tables.append(Table(np.array([place[name] for name in of_atoms], dtype=np.int64), names))
    return Runs(people, parts, tuple(tables))


def suppress(runs: Runs) -> None:
    """Withhold what may not be shown in the tables of runs whose total may be shown."""
    for table in runs.tables:
        for group in table.shown:
            why = runs.why(table.mask([group]))
            if why:
                table.withheld[group] = why
    while any(_hide_the_rest(runs, table) for table in runs.tables) or _hide_one_difference(runs):
        pass


def _hide_the_rest(runs: Runs, table: Table) -> bool:
    """Withhold the smallest further groups until the withheld ones together are safe; whether any were."""
    before = len(table.withheld)
    while table.withheld and table.shown and runs.why(table.mask(list(table.withheld))):
        _hide_smallest(runs, [(table, group) for group in table.shown])
    return len(table.withheld) > before


def _hide_smallest(runs: Runs, groups: Sequence[tuple[Table, int]]) -> None:
    table, group = min(groups, key=lambda each: runs.size(each[0].mask([each[1]])))
    table.withheld[group] = Withheld.OTHER_GROUP


def _hide_one_difference(runs: Runs) -> bool:
    """Withhold one group where groups of one table without those of another inside them are not safe."""
    for one, other in combinations(runs.tables, 2):
        few, many = sorted((one, other), key=lambda table: len(table.blocks()))
        for union in unions(few.blocks()):
            for groups, left in many.beside(few.mask(union)):
                if groups and np.any(left) and runs.why(left):
                    near = _shown_of((few, union), (many, groups)) or _shown_of((few, few.shown), (many, many.shown))
                    if near:
                        _hide_smallest(runs, near)
                        return True
    return False


def _shown_of(*groups_of: tuple[Table, Sequence[int]]) -> list[tuple[Table, int]]:
    return [(table, group) for table, groups in groups_of for group in groups if group not in table.withheld]


def unions(blocks: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, ...]]:
    """The unions of these groups that are compared with another table."""
    most = len(blocks) - 1 if len(blocks) <= UNIONS_OF_ALL_MAX else 2
    for size in range(1, most + 1):
        for chosen in combinations(blocks, size):
            yield tuple(group for block in chosen for group in block)
