"""Ranges of answers: worked by hand, and against an attacker who tries everything."""

from __future__ import annotations

import pytest

from analysis.answers.figures import FindingAnswers, answers_of, month_answers
from tests.analysis.answers.attacker import what_is_read

RIGHT, WRONG = (1, 0), (0, 1)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        # One answer each: ranges of 5. 8 of 11 right: about 10 answers, 0 to 4 of them wrong.
        ([RIGHT] * 8 + [WRONG] * 3, (10, "wrong", 0, 5)),
        # 13 of 20 wrong: 7 right are in 5 to 9.
        ([RIGHT] * 7 + [WRONG] * 13, (20, "right", 5, 5)),
        # As many right as wrong: 10 wrong are in 10 to 14, of about 20.
        ([RIGHT] * 10 + [WRONG] * 10, (20, "wrong", 10, 5)),
        # All of them wrong: what is shown allows four who answered "right".
        ([WRONG] * 12, (10, "right", 0, 5)),
        # 13 are nearer to 15.
        ([RIGHT] * 13, (15, "wrong", 0, 5)),
        # Four of one person: ranges of 10. 4 + 16 x 1 = 20 answers.
        ([(4, 0)] + [RIGHT] * 16, (20, "wrong", 0, 10)),
    ],
)
def test_a_range_of_the_rarer_answer_is_kept(given: list[tuple[int, int]], shown: tuple[int, str, int, int]) -> None:
    assert answers_of("timeout", given) == FindingAnswers("timeout", *shown)


@pytest.mark.parametrize(
    "given",
    [
        [],
        [(3, 3)] * 4,  # four people
        [RIGHT] * 9,  # fewer than two widths
        [(4, 0)] + [RIGHT] * 15,  # the same: 19 answers, ranges of 10
        [(60, 0), *[(2, 0)] * 5],  # 60 of 70 is 85.7 %
        [(40, 0), (40, 0), (40, 0), RIGHT, WRONG],  # three have nearly all of it
    ],
)
def test_a_finding_of_too_few_people_or_answers_is_not_named(given: list[tuple[int, int]]) -> None:
    assert answers_of("timeout", given) is None


def test_people_are_added_up_by_finding_and_nothing_over_findings() -> None:
    rows = [("timeout", user, 1, 0) for user in range(11)] + [("idle_gpus", user, 0, 1) for user in range(4)]
    assert month_answers(rows) == [FindingAnswers("timeout", 10, "wrong", 0, 5)]


@pytest.mark.parametrize(
    "counts", [(1,) * 10, (1,) * 11, (2,) * 5 + (5,) * 2, (4,) * 5, (4, 4, 4, 4, 1, 3), (1, 1, 1, 2, 2, 3, 4, 6)]
)
def test_two_people_together_read_nobodys_answers(counts: tuple[int, ...]) -> None:
    assert list(what_is_read(counts)) == []


def test_the_attacker_reads_exact_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the ranges are as wide as one answer, ten unanimous people have no secret: the attacker finds them."""
    monkeypatch.setattr("analysis.answers.figures.width_of", lambda most: 1)
    assert list(what_is_read((1,) * 10))


def test_with_ranges_as_wide_as_the_pool_alone_answers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """0 to 2 wrong, and the two who pool know two: everybody else answered "right"."""
    monkeypatch.setattr("analysis.answers.figures.width_of", lambda most: 2 * most + 1)
    assert list(what_is_read((1,) * 10))


def test_one_answer_more_or_less_is_read_from_no_sum_of_findings() -> None:
    """Before and after one person answers, with all findings of a month and the sums of what is shown."""
    others = [("timeout", user, 1, 0) for user in range(14)] + [("verdict", user, 1, 0) for user in range(3)]
    before = month_answers(others)
    assert before == month_answers([*others, ("verdict", 20, 0, 1)]), "its own finding has too few answers"
    for answer in (RIGHT, WRONG):
        # 15 answers, still about 15; 0 or 1 wrong is in 0 to 4.
        assert month_answers([*others, ("timeout", 20, *answer)]) == before
