"""Whether a smaller request started sooner: stated where jobs of many people show it, and never otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analysis.queue_waits.effects import Smaller, smaller_effect
from analysis.queue_waits.rule import Start
from tests.analysis.queue_waits.starts import NOON_S, asked, queue, start

DAY_LONG = asked(limit_s=86_400.0)
SHORT = Smaller(limit_s=7200.0)
WEEK_H = 7 * 24


def both(
    wait_of: Callable[[int, int, bool], float], people: int = 8, weeks: int = 2, each: int = 3, **short: float
) -> list[Start]:
    """For each person and week some runs with a limit of 2 h and as many with 24 h, hours apart."""
    return [
        start(
            wait_of(person, week, is_short),
            24.0 + week * WEEK_H + 5 * number + is_short,
            person=person,
            **(short or {"limit_s": 7200.0} if is_short else {"limit_s": 86_400.0}),
        )
        for person in range(1, people + 1)
        for week in range(weeks)
        for number in range(each)
        for is_short in (True, False)
    ]


def test_a_clear_difference_is_a_range_with_both_numbers() -> None:
    # With 24 h everybody waited three times as long as with 2 h.
    found = smaller_effect(queue(*both(lambda _, __, is_short: 20.0 if is_short else 60.0)), DAY_LONG, SHORT)
    assert found is not None
    assert (found.low_factor, found.typical_factor, found.high_factor) == pytest.approx((3, 3, 3))
    assert (found.starts, found.smaller_starts) == (48, 48)


def test_people_who_differ_widen_the_range() -> None:
    # People 1 to 8 waited 1.5, 2 … 5 times as long; the median of a whole sample is near 3.
    found = smaller_effect(
        queue(*both(lambda person, _, is_short: 20.0 * (1 if is_short else 1 + person / 2))), DAY_LONG, SHORT
    )
    assert found is not None
    assert 1.5 <= found.low_factor < found.typical_factor < found.high_factor <= 5


def test_fewer_gpus_are_compared_in_the_same_way() -> None:
    rows = both(lambda _, __, is_short: 20.0 if is_short else 60.0, limit_s=86_400.0)
    gpus = [row._replace(gpus=1 if number % 2 == 0 else 8) for number, row in enumerate(rows)]
    found = smaller_effect(queue(*gpus), asked(gpus=8, limit_s=86_400.0), Smaller(gpus=1))
    assert found is not None
    assert found.typical_factor == pytest.approx(3)


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("the same wait", both(lambda *_: 60.0)),
        ("shorter ones waited longer", both(lambda _, __, is_short: 60.0 if is_short else 20.0)),
        (
            "one half sooner, one later",
            both(lambda person, _, is_short: 60.0 if is_short == (person % 2 == 0) else 20.0),
        ),
        ("four people", both(lambda _, __, is_short: 20.0 if is_short else 60.0, people=4)),
        ("fourteen starts of each", both(lambda _, __, is_short: 20.0 if is_short else 60.0, 7, 1, 2)),
        # The limit of whoever waited long was long, but in another week: a week counts with both kinds alone.
        (
            "different weeks",
            [
                row
                for row in both(lambda _, week, __: 20.0 if week == 0 else 60.0)
                if ((row.limit_s == 7200.0) == ((row.started_s or 0) > NOON_S - 6 * 86_400))
            ],
        ),
        (
            "one person's priority",
            [
                *both(lambda *_: 60.0),
                *(start(5.0, 24.0 + n / 100, person=9, limit_s=7200.0) for n in range(400)),
            ],
        ),
    ],
)
def test_nothing_is_said_where_the_data_do_not_show_it(name: str, rows: list[Start]) -> None:
    assert smaller_effect(queue(*rows), DAY_LONG, SHORT) is None


def test_a_change_that_changes_nothing_is_compared_with_nothing() -> None:
    rows = both(lambda _, __, is_short: 20.0 if is_short else 60.0)
    assert smaller_effect(queue(*rows), DAY_LONG, Smaller()) is None
    assert smaller_effect(queue(), DAY_LONG, SHORT) is None
    assert smaller_effect(queue(*rows), asked(limit_s=None), SHORT) is None
