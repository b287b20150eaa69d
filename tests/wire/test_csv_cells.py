"""Cells that no spreadsheet executes, and that a program reads back exactly as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wire.csv_cells import marked, unmarked

PIECES = [*"=+-@;|,\t\n\r\"' xZ1", "＝", "'=", "''+", '"=', "\u200b"]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@given(texts)
def test_every_text_is_read_back(text: str) -> None:
    assert unmarked(marked(text)) == text


@given(texts, texts)
def test_two_texts_never_become_one_cell(one: str, other: str) -> None:
    assert (marked(one) == marked(other)) == (one == other)


@given(texts)
def test_no_cell_begins_a_formula(text: str) -> None:
    assert not marked(text).lstrip(' \t\r\n"').startswith(("=", "+", "-", "@", "＝"))
