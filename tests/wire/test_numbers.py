"""Numbers as people read them: never on the wrong side of a class, never a zero for what is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.classes import class_of
from wire.numbers import NOT_MEASURED, counted, duration, gigabytes, hours, percent


@given(st.floats(0, 100))
def test_a_shown_percent_is_in_the_class_that_was_judged(value: float) -> None:
    assert class_of(float(percent(value).removesuffix(" %"))) == class_of(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0 %"),
        (14.96, "14.96 %"),
        (15.0, "15.0 %"),
        (39.95, "39.95 %"),
        (69.999, "69.999 %"),
        (100.0, "100.0 %"),
    ],
)
def test_one_decimal_is_enough_but_at_a_boundary(value: float, shown: str) -> None:
    assert percent(value) == shown


@pytest.mark.parametrize("wording", [percent, gigabytes])
def test_what_is_not_known_is_said(wording) -> None:
    assert wording(None) == NOT_MEASURED


def test_no_price_is_not_a_price_of_zero() -> None:
    assert (hours(None), hours(0.0), hours(1234.5)) == ("price not known", "0.00", "1,234.5")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (59.6, "1 min 00 s"), (3600, "1 h 00 min"), (172_800, "2 d 00 h"), (None, "unknown")],
)
def test_durations_keep_two_units(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


def test_counts_agree_with_their_noun() -> None:
    assert (counted(1, "node"), counted(0, "node"), counted(5000, "node")) == ("1 node", "0 nodes", "5,000 nodes")
