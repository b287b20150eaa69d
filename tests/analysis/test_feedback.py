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


def test_the_newest_rules_come_first_and_versions_count_as_numbers() -> None:
    rows = [(code, version, 1, 1, 0) for code in ("timeout", "idle_tail") for version in ("2026.11.9", "2026.11.10")]
    assert [(row.rules_version, row.code) for row in answers(rows)] == [
        ("2026.11.10", "idle_tail"),
        ("2026.11.10", "timeout"),
        ("2026.11.9", "idle_tail"),
        ("2026.11.9", "timeout"),
    ]
