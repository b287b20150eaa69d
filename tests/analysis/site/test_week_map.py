"""Which hours of the week are shown, and an attacker who knows everything but what one person used."""

from __future__ import annotations

import random

import numpy as np
import pytest

from analysis.site.suppression import Withheld, runs_of, suppress
from analysis.site.week_map import (
    HARMLESS_STEP_PERCENT,
    WeekMap,
    WeekRuns,
    _unsafe_differences,
    is_mostly_rounding,
    shown_hours,
    week_map,
)
from tests.analysis.site.attacker import bounds, factor_bounds, ranges_of

NEARLY = 0.05
EVENLY = 4.0
"""Hours of each kind in a month, the same for all of them."""


def week_of(*rows: tuple[int, str, list[float]], use: float = 0.5) -> WeekRuns:
    """(person, group, GPU-hours in each hour of a short week), after the table was suppressed."""
    hours = {(person, (group,)): np.array(cells) for person, group, cells in rows}
    found = runs_of({key: (use * cells.sum(), (1 - use) * cells.sum(), 0.0) for key, cells in hours.items()})
    suppress(found)
    parts = np.array([np.outer(cells, [use, 1 - use, 0.0]) for cells in hours.values()], dtype=np.float32)
    return WeekRuns(found, parts, np.full(parts.shape[1], EVENLY))


def test_an_hour_of_four_people_is_withheld_and_the_smallest_other_hides_it() -> None:
    # Hour 0: six people of 40; hour 1: four of 20, hour 2: six of 20.
    week = week_of(*((person, "a", [40, 20 * (person < 4), 20]) for person in range(6)))
    # The largest in hour 1 has 20: 80 hours of four people are not hidden by a step of 20.
    assert list(shown_hours(week)) == [True, False, False]
    shown = week_map(week, lambda: 0.0)
    # 240 hours in four such hours are 60 in each; 40 hours of one person are 10: the step.
    # One of six has 16.7 %: the step of the use is 20 %, and 50 % became 60 at random, here always upwards.
    nothing = [None, None]
    assert shown == WeekMap("", [60.0, *nothing], [60.0, *nothing], [10.0, *nothing], [20.0, *nothing])


def test_one_person_alone_at_night_is_withheld_with_another_hour() -> None:
    week = week_of(*((person, "a", [40, 30, 30 if person == 0 else 0]) for person in range(6)))
    # 30 hours of one person are no more than a step of the hours that are shown: rounding leaves nothing of them.
    assert list(shown_hours(week)) == [True, True, False]
    week = week_of(*((person, "a", [40, 30, 150 if person == 0 else 0]) for person in range(6)))
    # 150 are. With the 180 of hour 1 person 0 has 180 of 330, which the others hide.
    assert list(shown_hours(week)) == [True, False, False]


def test_hours_without_a_group_that_ran_in_them_are_sums_too() -> None:
    """Six people on "dev" in four hours of the week; one other person ran in the same hours, on "large"."""
    dev = [(person, "dev", [10, 10, 10, 10, 0]) for person in range(6)]
    large = [(person, "large", [0, 0, 0, 0, 50]) for person in range(7, 13)]
    alone = week_of(*dev, *large, (6, "large", [10, 10, 10, 10, 0]))
    assert alone.runs.tables[0].withheld == {}
    assert shown_hours(alone).all(), "seven people in each"
    # The four hours without "dev" are the 40 of person 6; the step is 20: 2.5, so 5, in each of four.
    assert week_map(alone, random.Random(1).random) == WeekMap(Withheld.OTHER_GROUP.value)
    # With six people of "large" in them the map is shown.
    together = [(person, "large", [10, 10, 10, 10, 50]) for person in range(7, 13)]
    week = week_of(*dev, *together)
    assert not any(_unsafe_differences(week, shown_hours(week)))


def test_a_group_without_the_hours_in_which_nobody_else_ran_is_a_sum_too() -> None:
    """All but one person of "dev" ran when nobody else did."""
    dev = [(person, "dev", [10, 10, 10, 0, 0]) for person in range(6)]
    large = [(person, "large", [0, 0, 0, 50, 50]) for person in range(7, 13)]
    week = week_of(*dev, (6, "dev", [0, 0, 0, 20, 20]), *large)
    assert shown_hours(week).all()
    assert week_map(week, random.Random(1).random) == WeekMap(Withheld.OTHER_GROUP.value)


def test_use_is_withheld_where_one_person_has_more_than_a_quarter_of_an_hour() -> None:
    even = week_of(*((person, "a", [40.0] * 3) for person in range(10)))
    # A tenth each: the step is 10 %, and 50 % is a multiple of it.
    assert week_map(even, random.Random(1).random).use_percent == [50.0] * 3
    uneven = week_of(*((person, "a", [40.0 + 100.0 * (person == 0)] * 3) for person in range(10)))
    # 140 of 500 are 28 %.
    assert week_map(uneven, random.Random(1).random).use_percent == [None] * 3


@pytest.mark.parametrize(
    ("value", "step", "harmless", "expected"),
    [
        # Rounded up or down to a step, so off by less than one: 0 is 0 to 50, 50 is 0 to 100, 100 is 50 to 150.
        (0.0, 50.0, 0.0, True), (50.0, 50.0, 0.0, True), (100.0, 50.0, 0.0, False), (150.0, 50.0, 0.0, False),
        # Where summer time begins an hour occurs three times in four: 2 steps of 1/3 or 2/3, to nine decimals.
        (0.666666667, 0.333333333, 0.0, False), (1.333333333, 0.666666667, 0.0, False),
        # Use in percent: 10 is 0 to 20, low in any case; 20 is 0 to 40, 25 is 0 to 50. 100 was cut at 100.
        (10.0, 10.0, HARMLESS_STEP_PERCENT, False), (0.0, 5.0, HARMLESS_STEP_PERCENT, False),
        (20.0, 20.0, HARMLESS_STEP_PERCENT, True), (25.0, 25.0, HARMLESS_STEP_PERCENT, True),
        (40.0, 20.0, HARMLESS_STEP_PERCENT, False), (100.0, 25.0, HARMLESS_STEP_PERCENT, False),
    ],
)  # fmt: skip
def test_a_figure_of_less_than_two_steps_is_mostly_rounding(
    value: float, step: float, harmless: float, expected: bool
) -> None:
    assert is_mostly_rounding(value, step, harmless) == expected


def test_no_hour_is_shown_where_each_has_few_people() -> None:
    week = week_of(*((person, "a", [40.0 * (person == cell) for cell in range(6)]) for person in range(6)))
    assert week_map(week, random.Random(1).random) == WeekMap(Withheld.FEW_PEOPLE.value)


def drawn_week(seed: int) -> WeekRuns:
    """Six to forty people, some with most of the hours; some run always, others in a few hours of the week."""
    dice = random.Random(seed)
    cells, rows = dice.choice([6, 24, 168]), []
    for person in range(dice.randint(6, 40)):
        heavy = dice.paretovariate(1.5)
        for group in dice.sample("abc", dice.randint(1, 3)):
            first, length = dice.randrange(cells), dice.choice([cells, cells // 2, cells // 6])
            course = [heavy * ((cell - first) % cells < length) for cell in range(cells)]
            rows.append((person, group, course))
    return week_of(*rows, use=dice.uniform(0.2, 0.9))


def is_known(least: float, most: float, truth: float = 1.0) -> bool:
    return least >= (1 - NEARLY) * truth and most <= (1 + NEARLY) * truth


@pytest.mark.parametrize("block", range(10))
def test_who_knows_everything_else_does_not_know_how_much_one_person_used(block: int) -> None:
    shown = 0
    for seed in range(block * 20, block * 20 + 20):
        week = drawn_week(seed)
        found = week_map(week, random.Random(seed).random)
        if found.withheld:
            continue
        shown += 1
        ranges = ranges_of(week, found)
        hours = week.of_person.sum(axis=2)
        for person in range(week.runs.count):
            least, most = factor_bounds(week, ranges, person)
            assert least - 1e-6 <= 1 <= most + 1e-6
            assert not is_known(least, most), (seed, person, least, most)
            for cell, low, top in ranges:
                own, others = hours[person, cell], hours[:, cell].sum() - hours[person, cell]
                assert own == 0 or not is_known(max(low - others, 0.0), top - others, own)
    assert shown > 0


def test_the_attacker_succeeds_where_each_hour_is_rounded_to_the_nearest() -> None:
    """Why rounding is at random, and coarser where one person ran in many hours: many thresholds find the number."""
    found = 0
    for seed in range(60):
        week = drawn_week(seed)
        sums = week.of_person.sum(axis=(0, 2))
        nearest = np.round(sums / week.steps) * week.steps
        ranges = [(cell, nearest[cell] - step / 2, nearest[cell] + step / 2) for cell, step in enumerate(week.steps)]
        found += any(is_known(*factor_bounds(week, ranges, person)) for person in range(week.runs.count))
    assert found > 10


@pytest.mark.parametrize("block", range(5))
def test_people_who_pool_what_they_know_of_themselves_find_nobodys_hours(block: int) -> None:
    """The map beside the tables; which hours of the week each person ran in is known."""
    shown = 0
    for seed in range(block * 12, block * 12 + 12):
        week = small_week(seed)
        found = week_map(week, random.Random(seed).random)
        if found.withheld:
            continue
        shown += 1
        whole, more = by_hour(week, found)
        hours = np.bincount(whole.people, whole.parts.sum(axis=1))
        for target, own in enumerate(hours):
            others = [int(person) for person in np.argsort(hours)[::-1] if person != target]
            for known in ([], others[:1], others[:2]):
                least, most = bounds(whole, target, known, more)
                assert least - 1e-3 <= own <= most + 1e-3
                assert not is_known(least, most, own), (seed, target, known)
    assert shown > 0


def small_week(seed: int) -> WeekRuns:
    dice = random.Random(seed)
    rows = []
    for person in range(dice.randint(6, 9)):
        heavy = dice.uniform(1, 5)
        rows.append((person, dice.choice("ab"), [heavy * (dice.random() < 0.8) for _ in range(4)]))
    return week_of(*((person, group, course if any(course) else [1.0] * 4) for person, group, course in rows))


def by_hour(week: WeekRuns, shown: WeekMap):  # type: ignore[no-untyped-def]
    """The same runs with an atom for each hour of the week, and what the map answers about them."""
    tables = week.runs.tables[0]
    atoms = {
        (int(person), (tables.names[group], str(cell))): tuple(float(part) for part in week.hours[atom, cell])
        for atom, (person, group) in enumerate(zip(week.runs.people, tables.of_atom, strict=True))
        for cell in range(week.hours.shape[1])
        if week.hours[atom, cell].any()
    }
    whole = runs_of(atoms)
    whole.tables[0].withheld.update(
        {whole.tables[0].names.index(tables.names[g]): w for g, w in tables.withheld.items()}
    )
    of_hour = whole.tables[1]
    more = [(of_hour.mask([of_hour.names.index(str(cell))]), low, top) for cell, low, top in ranges_of(week, shown)]
    of_hour.withheld.update(dict.fromkeys(range(len(of_hour.names)), Withheld.OTHER_GROUP))
    return whole, more
