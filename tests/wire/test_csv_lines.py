"""Tables for spreadsheets: whatever separator one takes, no cell begins a formula and nothing in a cell hides."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wire.csv_cells import csv_lines

FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
SEPARATORS = (",", ";", "\t", "|")
PIECES = [*"=+-@;|,\t\n\r\"' xXyZ1", "＝", "\u200b", "\u202e", "cmd|", ';"=', '"";=']
pieces = st.lists(st.sampled_from(PIECES), max_size=12)
texts = pieces.map("".join)


def cells(table: str, separator: str) -> list[str]:
    """Every cell as a spreadsheet with this separator reads it, with the white space before it left out."""
    rows = csv.reader(StringIO(table, newline=""), delimiter=separator)
    return [cell.lstrip(" \t\r\n\u200b") for row in rows for cell in row]


@given(st.lists(st.tuples(st.just("lumi"), texts, st.integers(0, 9), texts), min_size=1, max_size=4))
@example([("lumi", "x;=1+1", 1, "a\t@SUM(A1)")])
@example([("lumi", 'x,";"=1', 1, "y")])
@example([("lumi", "=1", 1, ' "=1')])
def test_no_separator_makes_a_formula_of_a_text(rows: list[tuple[str, str, int, str]]) -> None:
    table = "".join(csv_lines(rows))
    for separator in SEPARATORS:
        assert [cell for cell in cells(table, separator) if cell.startswith(FORMULAS)] == []


def test_a_table_is_read_back_as_it_was_but_for_what_would_be_run() -> None:
    rows = [["lumi", "train - v2", "a;b", "5-3", "x=1", 'say "yes"', "", "-"], ["lumi", "a;=1", "=1", "b\t+2", "|@x"]]
    back = list(csv.reader("".join(csv_lines(rows)).splitlines()))
    assert back[0] == ["lumi", "train - v2", "a;b", "5-3", "x=1", 'say "yes"', "", "'-"]
    assert back[1] == ["lumi", "a;'=1", "'=1", "b\t'+2", "|'@x"]


def test_numbers_stay_numbers() -> None:
    assert list(csv_lines([(-1, -2.5, None, "1e-5", "12.5")])) == ["-1,-2.5,,1e-5,12.5\r\n"]


@pytest.mark.parametrize("mark", ["\u200b", "\u200f", "\u202e", "\u2066", "\ufeff", "\u00ad", "\U000e0041", "\x85"])
def test_no_mark_hides_in_a_cell(mark: str) -> None:
    assert list(csv_lines([(f"a{mark}b",)])) == ["a\ufffdb\r\n"]
