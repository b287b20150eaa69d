"""A reader who has everything that may be asked for cannot narrow one person's hours down from a month's projects."""

from __future__ import annotations

import random

import pytest

from analysis.policy.suppression import withheld_projects
from analysis.site.suppression import Runs, Table, runs_of, suppress
from tests.analysis.site.attacker import bounds

PARTITIONS, CLASSES = ("small-g", "standard-g", "dev-g"), ("EFFICIENT", "INEFFICIENT", "WASTED")
SEEDS = range(12)
WIDTH_MIN = 0.1
"""What remains unknown of a person is at least this part of their hours (domain: more than 5 %)."""


def months(seed: int) -> tuple[Runs, list[Table], Table]:
    """Some 40 people in some projects of different sizes; the tables of the Site page, and the projects."""
    dice = random.Random(seed)
    atoms = {}
    for person in range(dice.randint(12, 40)):
        for _ in range(dice.randint(1, 3)):
            project = f"{min(int(dice.expovariate(0.5)), 6)}"
            key = person, (dice.choice(PARTITIONS), dice.choice(CLASSES), project)
            hours = dice.lognormvariate(3, 1.2)
            unused = hours * dice.random()
            atoms[key] = (hours - unused, unused, 0.0)
    runs = runs_of(atoms)
    *site, projects = runs.tables
    page = Runs(runs.people, runs.parts, tuple(site))
    suppress(page)
    withheld, hidden = withheld_projects(runs, 1, {}, ())
    assert set(withheld) == {projects.names[group] for group in projects.withheld}
    assert hidden >= set(withheld)
    return runs, site, projects


@pytest.mark.parametrize("seed", SEEDS)
def test_all_shown_sums_together_leave_each_person_a_wide_range(seed: int) -> None:
    runs, _, projects = months(seed)
    hours = runs.parts.sum(axis=1)
    largest = max(range(runs.count), key=lambda person: float(hours[runs.people == person].sum()))
    in_withheld = [person for person in range(runs.count) if projects.withheld and any(
        group in projects.withheld for group in projects.of_atom[runs.people == person])][:2]  # fmt: skip
    for target in {largest, *in_withheld}:
        own = float(hours[runs.people == target].sum())
        least, most = bounds(runs, target, known=())
        assert least <= own + 1e-6
        assert own - 1e-6 <= most
        assert most - least >= WIDTH_MIN * own, f"person {target} of seed {seed}"


@pytest.mark.parametrize("seed", SEEDS)
def test_every_sum_that_differences_give_is_of_five_people(seed: int) -> None:
    runs, site, projects = months(seed)
    if projects.withheld:
        assert runs.why(projects.mask(list(projects.withheld))) is None or not projects.shown
    for table in site:
        for block in table.blocks():
            whole = table.mask(block)
            for group in projects.shown:
                inside = projects.mask([group])
                if not (inside & ~whole).any():
                    left = whole & ~inside
                    assert not left.any() or runs.why(left) is None, "the site's group without the project"
                if not (whole & ~inside).any():
                    left = inside & ~whole
                    assert not left.any() or runs.why(left) is None, "the project without the site's group"


def test_some_projects_are_shown() -> None:
    assert sum(len(projects.shown) for _, _, projects in map(months, SEEDS)) >= len(SEEDS)
