"""Answers to "was this right?" add up without telling anyone's own."""

from __future__ import annotations

import pytest

from analysis.feedback import Answers, answers, is_anonymous

FIVE = [("overscaling", "2026.11.3", user, 2, 1) for user in range(5)]


def test_sums_of_five_people_are_told() -> None:
    told = answers(FIVE)
    assert told == [Answers("overscaling", "2026.11.3", 10, 5)]
    assert told[0].right_fraction == pytest.approx(2 / 3)


def test_sums_of_four_people_are_withheld_but_not_that_there_are_some() -> None:
    told = answers(FIVE[:4])
    assert told == [Answers("overscaling", "2026.11.3", None, None)]
    assert told[0].right_fraction is None


@pytest.mark.parametrize(("most", "told"), [(22, True), (23, False)])
def test_nobody_may_make_up_more_than_85_percent(most: int, told: bool) -> None:
    # Four people with one answer each: 22 of 26 is 84.6 %, 23 of 27 is 85.2 %.
    assert is_anonymous([most, 1, 1, 1, 1]) is told


def test_exactly_85_percent_hides_the_one_who_makes_it_up() -> None:
    # 17 of 20 is 85 percent.
    assert is_anonymous([17.0, 0.75, 0.75, 0.75, 0.75])
    assert not is_anonymous([17.1, 0.75, 0.75, 0.75, 0.75])


def test_the_bound_holds_for_the_answers_of_a_person_whatever_they_were() -> None:
    # 23 of 27 answers are one person's, right and wrong together; only that code is withheld.
    rows = [("overscaling", "1", 0, 20, 3), *(("overscaling", "1", user, 1, 0) for user in range(1, 5))]
    told = answers([*rows, *(("timeout", "1", user, 0, 1) for user in range(5))])
    assert [(row.code, row.right, row.wrong) for row in told] == [("overscaling", None, None), ("timeout", 0, 5)]


def test_the_newest_rules_come_first_and_versions_count_as_numbers() -> None:
    rows = [(code, version, 1, 1, 0) for code in ("timeout", "idle_tail") for version in ("2026.11.9", "2026.11.10")]
    assert [(row.rules_version, row.code) for row in answers(rows)] == [
        ("2026.11.10", "idle_tail"),
        ("2026.11.10", "timeout"),
        ("2026.11.9", "idle_tail"),
        ("2026.11.9", "timeout"),
    ]
