"""The comment of a run, and that the operator's side accepts each one that can be made."""

from __future__ import annotations

import math

import pytest

from analysis.comments.text import comment_text
from analysis.efficiency import EfficiencyClass
from collector.comments.texts import TEXT


@pytest.mark.parametrize(
    ("name", "util", "is_shown", "expected"),
    [
        ("INEFFICIENT", 24.8, True, "kaiku:class=inefficient;util=24;v=1"),
        # 49.6 is no 50, from which on it would be acceptable.
        ("INEFFICIENT", 49.96, True, "kaiku:class=inefficient;util=49;v=1"),
        ("WASTED", 0.0, True, "kaiku:class=wasted;util=0;v=1"),
        # 0.1 + 0.7 ten times is 7.999…, and means 8.
        ("WASTED", (0.1 + 0.7) * 10, True, "kaiku:class=wasted;util=8;v=1"),
        ("EFFICIENT", 100.0000001, True, "kaiku:class=efficient;util=100;v=1"),
        ("ACCEPTABLE", 60.0, True, "kaiku:class=acceptable;util=60;v=1"),
        ("EFFICIENT", 88.0, False, "kaiku:class=unknown;v=1"),
        ("UNKNOWN", 88.0, True, "kaiku:class=unknown;v=1"),
        ("EFFICIENT", None, True, "kaiku:class=unknown;v=1"),
        ("EFFICIENT", math.nan, True, "kaiku:class=unknown;v=1"),
    ],
)
def test_class_and_whole_percent_rounded_down(name: str, util: float | None, is_shown: bool, expected: str) -> None:
    assert comment_text(EfficiencyClass(name), util, is_class_shown=is_shown) == expected
    assert TEXT.fullmatch(expected)


def test_every_class_and_percent_is_one_that_the_operators_side_accepts() -> None:
    made = {comment_text(each, util / 2, is_class_shown=True) for each in EfficiencyClass for util in range(203)}
    assert len(made) == 4 * 101 + 1
    assert all(TEXT.fullmatch(text) and text.isascii() and text == text.lower() for text in made)
