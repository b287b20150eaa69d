"""The bounds of every sum over people."""

from __future__ import annotations

import pytest

from analysis.feedback import is_anonymous


@pytest.mark.parametrize(("most", "shown"), [(22, True), (23, False)])
def test_nobody_may_make_up_more_than_85_percent(most: int, shown: bool) -> None:
    # Four people with one answer each: 22 of 26 is 84.6 %, 23 of 27 is 85.2 %.
    assert is_anonymous([most, 1, 1, 1, 1]) is shown


def test_exactly_85_percent_hides_the_one_who_makes_it_up() -> None:
    # 17 of 20 is 85 percent.
    assert is_anonymous([17.0, 0.75, 0.75, 0.75, 0.75])
    assert not is_anonymous([17.1, 0.75, 0.75, 0.75, 0.75])
