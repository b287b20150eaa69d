"""Shares and energy as people read them: not rounded onto an end, never a zero for what is not known."""

from __future__ import annotations

from reports.numbers import energy, share
from wire.numbers import NOT_MEASURED


def test_what_is_not_known_is_said() -> None:
    assert share(None) == energy(None) == NOT_MEASURED


def test_a_share_near_an_end_is_not_rounded_onto_it() -> None:
    assert (share(0.004), share(0.996), share(0.5), share(1.0)) == ("< 1 %", "> 99 %", "50 %", "100 %")
