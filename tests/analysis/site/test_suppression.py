"""What is shown of the whole site, and an attacker who may ask everything."""

from __future__ import annotations

import random

import numpy as np
import pytest

from analysis.site.suppression import Runs, Withheld, reason, rounded, runs_of, step_of, suppress
from tests.analysis.site.attacker import bounds, optimum

NEARLY = 0.05
FEW, ONE, TOGETHER, OTHER = Withheld


def runs(*rows: tuple[int, str, float]) -> Runs:
    """One table: (person, group, GPU-hours), half of them used, half unused."""
    found = runs_of({(person, (group,)): (hours / 2, hours / 2, 0.0) for person, group, hours in rows})
    suppress(found)
    return found


def withheld(found: Runs, table: int = 0) -> dict[str, Withheld]:
    return {found.tables[table].names[group]: why for group, why in found.tables[table].withheld.items()}


def people(*hours: float) -> Withheld | None:
    return reason(np.array([(each / 2, each / 2, 0.0) for each in hours]))


def test_a_sum_needs_five_people_none_above_85_percent_nor_two_who_find_the_third() -> None:
    assert people(1, 1, 1, 1, 1) is None
    assert people(1, 1, 1, 1) is FEW
    assert people(1, 1, 1, 1, 0) is FEW, "who used nothing hides nobody"
    assert people(90, 2.5, 2.5, 2.5, 2.5) is ONE
    # 850 of 1,000 is exactly 85 %; without the first three 50 are left, less than a tenth of 850.
    assert people(850, 50, 50, 25, 25) is TOGETHER
    # The last two have 100: a tenth of 800 is 80.
    assert people(800, 50, 50, 50, 50) is None
    # Two of three who share nearly everything would know the third's: 6 are left of 100, a tenth of 40 is 4; 3 are not.
    assert people(40, 30, 24, 3, 3) is None
    assert people(40, 30, 27, 2, 1) is TOGETHER


def test_each_part_is_a_sum_of_its_own() -> None:
    # Five people, all unused hours are one person's.
    assert reason(np.array([(10.0, 90.0, 0.0), *[(100.0, 0.0, 0.0)] * 4])) is FEW
    # The same with 10 unused hours: the largest has 100, the step is 20, and nothing is left of 10.
    assert reason(np.array([(90.0, 10.0, 0.0), *[(100.0, 0.0, 0.0)] * 4])) is None
    # What was not measured is what remains without used and unused.
    assert reason(np.array([(5.0, 5.0, 90.0), *[(50.0, 50.0, 0.0)] * 4])) is FEW


def test_one_person_in_a_partition_takes_the_smallest_other_group_along() -> None:
    large = [(person, "large", 100.0) for person in range(1, 7)]
    small = [(person, "small", 10.0) for person in range(1, 7)]
    # The smallest other one has 60 hours; with the 20 of person 9 nobody has more than 85 %.
    assert withheld(runs(*large, *small, (9, "own", 20.0))) == {"own": FEW, "small": OTHER}
    # Of 900 + 60 hours person 9 has 94 %: the other group goes as well, only the total is left.
    assert withheld(runs(*large, *small, (9, "own", 900.0))) == {"own": FEW, "small": OTHER, "large": OTHER}


def test_two_withheld_groups_are_enough_where_they_hide_each_other() -> None:
    large = [(person, "large", 100.0) for person in range(1, 7)]
    apart = [*((person, "a", 10.0) for person in (1, 2, 3)), *((person, "b", 10.0) for person in (4, 5, 6))]
    assert withheld(runs(*large, *apart)) == {"a": FEW, "b": FEW}
    same = [*((person, "a", 10.0) for person in (1, 2)), *((person, "b", 10.0) for person in (1, 2))]
    assert withheld(runs(*large, *same)) == {"a": FEW, "b": FEW, "large": OTHER}


def test_one_person_with_90_percent_of_a_group_of_five_is_not_shown() -> None:
    rest = [(person, "rest", 100.0) for person in range(1, 7)]
    more = [(person, "more", 50.0) for person in range(1, 7)]
    found = runs(*rest, *more, (1, "own", 90.0), *((person, "own", 2.5) for person in (2, 3, 4, 5)))
    assert withheld(found) == {"own": ONE, "more": OTHER}


def test_groups_of_one_table_without_those_of_another_inside_them_are_sums_too() -> None:
    """Six people in one partition; all but one of them ran on one GPU only, and in no other partition."""
    atoms = {(person, ("small", "one")): (50.0, 50.0, 0.0) for person in range(6)}
    atoms |= {(6, ("small", "many")): (50.0, 50.0, 0.0)}
    atoms |= {(person, ("large", "many")): (50.0, 50.0, 0.0) for person in range(7, 13)}
    found = runs_of(atoms)
    # Each group has six people or more, yet "small" without "one" is person 6.
    assert found.why(found.tables[0].mask([1])) is None
    suppress(found)
    # One group less in each table leaves only the total.
    assert withheld(found) == {"small": OTHER, "large": OTHER}
    assert not breaches(found)


def test_a_shown_sum_is_rounded_by_its_largest_person() -> None:
    found = runs_of({(person, ("a",)): (60.0 + person, 40.0, 0.0) for person in range(6)})
    everything = np.ones(6, dtype=bool)
    # The largest has 105, a fifth of it is 21: the step is 50. 615 allocated, 375 used, 240 unused.
    assert step_of(found.sums(everything).sum(axis=1)) == 50.0
    shown = found.shown(everything)
    assert (shown.allocated, shown.used, shown.unused) == (600.0, 400.0, 250.0)
    assert rounded(625.1, 50.0) == 650.0


@pytest.mark.parametrize("leaver", range(6))
def test_who_leaves_cannot_be_computed_from_two_months(leaver: int) -> None:
    """Everybody else uses the same in both months, and the reader knows it."""
    hours = (100.0, 90.0, 85.0, 120.0, 70.0, 110.0)
    months = [
        runs_of({(person, ("a",)): (each / 2, each / 2, 0.0) for person, each in enumerate(hours) if person != gone})
        for gone in (None, leaver)
    ]
    shown, widths = zip(*((_whole(month), _step(month)) for month in months), strict=True)
    difference, width = shown[0] - shown[1], sum(widths) / 2
    assert difference - width <= hours[leaver] <= difference + width
    assert width >= 2 * NEARLY * hours[leaver], "a range, not a number"
    assert people(*(hours[:4])) is FEW, "and a month of four people after one of five is withheld as a whole"


def _whole(found: Runs) -> float:
    return found.shown(np.ones(len(found.people), dtype=bool)).allocated


def _step(found: Runs) -> float:
    return step_of(found.parts.sum(axis=1))


def breaches(found: Runs) -> list[tuple[int, float, float, float]]:
    """The people whose hours the attacker knows to 5 %, alone or with what one or two others know of themselves."""
    hours = np.bincount(found.people, found.parts.sum(axis=1))
    seen = []
    for target, own in enumerate(hours):
        others = [int(person) for person in np.argsort(hours)[::-1] if person != target]
        for known in ([], others[:1], others[:2], others[-2:]):
            least, most = bounds(found, target, known)
            assert least - 1e-6 <= own <= most + 1e-6
            if least >= (1 - NEARLY) * own and most <= (1 + NEARLY) * own:
                seen.append((target, own, least, most))
    return seen


def test_the_simplex_method_of_the_attacker() -> None:
    # x + y = 10, y + z = 4: x is at least 6 and at most 10.
    rows, values = np.array([[1.0, 1, 0], [0, 1, 1]]), np.array([10.0, 4.0])
    assert optimum(rows, values, np.array([1.0, 0, 0])) == pytest.approx(10)
    assert -optimum(rows, values, np.array([-1.0, 0, 0])) == pytest.approx(6)


def test_the_attacker_succeeds_where_nothing_is_withheld() -> None:
    found = runs_of({(person, ("a" if person else "b",)): (1.0, 1.0, 0.0) for person in range(6)})
    # The group of one person is 2 hours, rounded to 0.5: between 1.75 and 2.25. Without rounding it is known.
    assert bounds(found, 0, []) == (pytest.approx(1.75), pytest.approx(2.25))


def drawn_site(seed: int) -> Runs:
    """A small site: five to ten people, few of them with most of the hours, in three tables of a few groups."""
    dice = random.Random(seed)
    atoms: dict[tuple[int, tuple[str, ...]], tuple[float, float, float]] = {}
    for person in range(dice.randint(5, 10)):
        heavy = dice.paretovariate(0.8)
        for _ in range(dice.randint(1, 4)):
            kind = tuple(dice.choice(names) for names in (("p", "q", "r"), ("e", "i", "w"), ("1", "2"))[: 1 + seed % 3])
            atoms[person, kind] = (heavy * dice.uniform(1, 10), heavy * dice.uniform(1, 10), 0.0)
    return runs_of(atoms)


@pytest.mark.parametrize("block", range(10))
def test_no_attacker_finds_anyones_hours_on_small_sites(block: int) -> None:
    shown = 0
    for seed in range(block * 30, block * 30 + 30):
        found = drawn_site(seed)
        if found.why(np.ones(len(found.people), dtype=bool)):
            continue
        suppress(found)
        shown += sum(len(table.shown) for table in found.tables)
        assert breaches(found) == [], seed
    assert shown > 0
