"""Making anonymised rows: every combination of values is shared by at least five people of at least five projects.

A row is not a run. It states that one person had runs like this in the month: a person has one row in a group of equal
rows, however many runs, so that the number of rows reveals nobody who runs much. Runs are first grouped by their finest
values. What is too rare to be hidden there is tried again at the next coarser level, and withheld after the last.

Its result is checked by `checking`, which shares nothing with this module.
"""

import hmac
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from analysis.anonymous.bands import ANY, COLUMNS, LEVELS, OTHER, SHAPE, UNKNOWN, Run, Values, coarsened, finest
from analysis.feedback import GROUP_USERS_MIN, USER_FRACTION_MAX

PROJECTS_MIN = 5
"""As many projects as people: five people of one team are one team, and its leader knows each of them."""

PROJECT_FRACTION_MAX = 0.5
"""No project has more of the people in a group than this: otherwise the group is that project with some guests."""

VALUE_FRACTION_MAX = 0.85
"""Of the people with the same kind of work not more than this have the same class, finding or bad end (l-diversity):
who knows that somebody is among them would know that of them too. The fraction is that of a sum's largest person."""

MERGED = ("program", "science_field", "gpu", "partition_type")
"""Columns whose rare values become `other` before anything else."""

REVEALING = {"ending": SHAPE, "efficiency_class": (*SHAPE, "ending"), "finding": (*SHAPE, "ending")}
"""Column that says something of a person -> what else a colleague may know beforehand."""

HARMLESS = {ANY, UNKNOWN, "UNKNOWN", "none", "completed"}

KEY_DIGITS = 16


class Withheld(StrEnum):
    """Why runs are in no row."""

    FEW_PEOPLE = "few_people"
    FEW_PROJECTS = "few_projects"
    ONE_PERSON = "one_person"
    ONE_PROJECT = "one_project"


@dataclass
class Part:
    """What one person contributes to a group: the projects, and the GPU-hours."""

    projects: set[int] = field(default_factory=set)
    gpu_hours: float = 0.0


Group = dict[int, Part]
"""Person -> their part."""


@dataclass(frozen=True)
class Row:
    """One anonymised row; `owner` and `part` are for the check alone and never written."""

    key: str
    values: Values
    owner: int
    part: Part


@dataclass(frozen=True)
class Anonymised:
    """The rows, groups of equal ones together, and how many of whom are in none, by reason."""

    rows: tuple[Row, ...]
    withheld: Mapping[Withheld, int]


Atoms = dict[tuple[Values, int], Part]
"""(Finest values, person) -> what this person contributes to them."""


def anonymised(runs: Iterable[Run], secret: bytes) -> Anonymised:
    """The rows of these runs. The secret is for this call alone: made for it, and forgotten after it."""
    atoms: Atoms = {}
    for run in runs:
        add(atoms, run)
    return anonymised_atoms(atoms, secret)


def add(atoms: Atoms, run: Run) -> None:
    """Count a run. In memory are the combinations of values and people, not the runs."""
    part = atoms.setdefault((finest(run), run.person), Part())
    part.projects.add(run.project)
    part.gpu_hours += run.gpu_hours


def anonymised_atoms(atoms: Atoms, secret: bytes) -> Anonymised:
    """The same of runs that are counted already."""
    left = _merged(atoms)
    rows: list[Row] = []
    for level in LEVELS:
        coarse = {values: coarsened(values, level) for values in {values for values, _ in left}}
        groups = _groups(left, coarse)
        shown = _shown(groups)
        for values in sorted(shown):
            rows.extend(_rows(values, groups[values], secret))
        left = {key: part for key, part in left.items() if coarse[key[0]] not in shown}
    return Anonymised(tuple(rows), _reasons(left))


def _merged(atoms: Atoms) -> Atoms:
    """The same with `other` for what fewer than five people or projects have."""
    few = (Withheld.FEW_PEOPLE, Withheld.FEW_PROJECTS)
    for place in (COLUMNS.index(column) for column in MERGED):
        by_value: dict[str, Group] = defaultdict(lambda: defaultdict(Part))
        for (values, person), part in atoms.items():
            _add(by_value[values[place]][person], part)
        rare = {value for value, group in by_value.items() if value != UNKNOWN and _why_not(group) in few}
        if not rare:
            continue
        merged: Atoms = defaultdict(Part)
        for (values, person), part in atoms.items():
            value = OTHER if values[place] in rare else values[place]
            _add(merged[(*values[:place], value, *values[place + 1 :]), person], part)
        atoms = merged
    return atoms


def _groups(atoms: Atoms, coarse: Mapping[Values, Values]) -> dict[Values, Group]:
    groups: dict[Values, Group] = defaultdict(lambda: defaultdict(Part))
    for (values, person), part in atoms.items():
        _add(groups[coarse[values]][person], part)
    return groups


def _add(sums: Part, part: Part) -> None:
    sums.projects |= part.projects
    sums.gpu_hours += part.gpu_hours


def _why_not(group: Group) -> Withheld | None:
    """Why a group does not hide the people in it; None where it does."""
    if len(group) < GROUP_USERS_MIN:
        return Withheld.FEW_PEOPLE
    people_of = Counter(project for part in group.values() for project in part.projects)
    if len(people_of) < PROJECTS_MIN:
        return Withheld.FEW_PROJECTS
    if max(people_of.values()) > PROJECT_FRACTION_MAX * len(group):
        return Withheld.ONE_PROJECT
    hours = [part.gpu_hours for part in group.values()]
    return Withheld.ONE_PERSON if max(hours) > USER_FRACTION_MAX * sum(hours) else None


def _shown(groups: Mapping[Values, Group]) -> set[Values]:
    """The groups that hide everybody in them, without those that say the same of all people with the same work.

    Leaving some out may make the rest of them alike, so it is repeated until nothing changes.
    """
    shown = {values for values, group in groups.items() if not _why_not(group)}
    while alike := _alike(shown, groups):
        shown -= alike
    return shown


def _alike(shown: Collection[Values], groups: Mapping[Values, Group]) -> set[Values]:
    """The groups of which a revealing value is that of nearly all people with the same work."""
    found: set[Values] = set()
    for column, known in REVEALING.items():
        place, places = COLUMNS.index(column), [COLUMNS.index(name) for name in known]
        people: dict[Values, Counter[str]] = defaultdict(Counter)
        for values in shown:
            if values[place] not in {ANY, UNKNOWN, "UNKNOWN"}:
                people[tuple(values[each] for each in places)][values[place]] += len(groups[values])
        for values in shown:
            counts = people[tuple(values[each] for each in places)]
            count = counts[values[place]]
            if values[place] not in HARMLESS and count > VALUE_FRACTION_MAX * counts.total():
                found.add(values)
    return found


def _rows(values: Values, group: Group, secret: bytes) -> Iterator[Row]:
    """The rows of a group, in the order of keys that follow from nothing but the secret."""
    rows = (Row(_key(secret, values, person), values, person, part) for person, part in group.items())
    yield from sorted(rows, key=lambda row: row.key)


def _key(secret: bytes, values: Values, person: int) -> str:
    """The key of a person in one group: in another group the same person has another one."""
    return hmac.digest(secret, "\0".join((*values, str(person))).encode(), "sha256").hex()[:KEY_DIGITS]


def _reasons(left: Atoms) -> Mapping[Withheld, int]:
    """How many people, once for each of the coarsest groups, have runs in no row, by what is wrong with that group."""
    counts: Counter[Withheld] = Counter()
    for group in _groups(left, {values: coarsened(values, LEVELS[-1]) for values, _ in left}).values():
        why = _why_not(group)
        if why:
            counts[why] += len(group)
    return counts
