"""Values, wrapped lines and tables within a width; expected lines are worked by hand."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli import answers
from cli.layout import (
    Column,
    change,
    count,
    date,
    duration,
    fitting,
    gigabytes,
    hours,
    instant,
    percent,
    spread,
    table,
    use_bar,
    wrapped,
)
from cli.terminal import Terminal, harmless, width


def terminal(columns: int, *, is_tty: bool = False) -> Terminal:
    return Terminal({"LANG": "C.UTF-8", "TERM": "xterm", "COLUMNS": str(columns)}, io.BytesIO(), is_tty=is_tty)


def test_values_have_their_units_and_what_is_not_known_has_none() -> None:
    assert [duration(None), percent(None), hours(None), gigabytes(None), count(None)] == ["–"] * 5
    assert [duration(0), duration(59.6), duration(3600)] == ["0\u00a0s", "1\u00a0min 00\u00a0s", "1\u00a0h 00\u00a0min"]
    # A class begins at 15, 40 and 70 %: what is below it never reads as if it were in it.
    assert [percent(14.96), percent(39.999), percent(70.0)] == ["14.96\u00a0%", "39.999\u00a0%", "70.0\u00a0%"]
    assert [count(0.0), count(10.0), count(100), count(2.25)] == ["0", "10", "100", "2.25"]
    assert use_bar(None) == ("          ", "")
    assert use_bar(39.999)[1] == "yellow"


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("2026-11-24T00:00:00Z", 1795478400.0),  # 20,781 days of 86,400 s
        ("2024-02-29T23:59:59Z", 1709251199.0),
        ("2000-03-01T00:00:00+00:00", 951868800.0),
        ("2026-11-24T00:00:00+02:00", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-1-01T00:00:00Z", None),
        ("", None),
        ("²026-11-24T00:00:00Z", None),
    ],
)
def test_an_instant_is_read_without_a_library(written: str, seconds: float | None) -> None:
    assert instant(written) == seconds


@given(st.integers(0, 7_000_000_000))
def test_every_instant_is_the_one_that_the_clock_writes(at: int) -> None:
    assert instant(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))) == at


@pytest.mark.usefixtures("in_utc")
def test_a_date_is_as_in_a_list_of_files() -> None:
    assert date("2026-11-24T00:05:59Z") == "2026-11-24 00:05"
    recent = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 86400))
    assert date(recent, is_short=True) == recent[5:10] + " " + recent[11:16]
    assert date("2001-11-24T00:05:59Z", is_short=True) == "2001-11-24"
    assert (date("soon"), date("")) == ("soon", "–")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"n": 5, "typical": 2, "low": 2, "high": 3}, "2 (2–3)"),
        ({"n": 5, "typical": 2, "low": 2, "high": 2}, "2"),
        ({"n": 2, "typical": 2.5, "low": None, "high": None}, "2.5"),
        (None, "–"),
        ([], "–"),
    ],
)
def test_a_range_is_its_typical_value_and_its_middle_half(said: object, shown: str) -> None:
    assert spread(said) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--gpus=8 -> --gpus=2", "--gpus=8 → --gpus=2"),
        ("(not set) -> --mem=120G", "add --mem=120G"),
        ("--exclusive -> (leave out)", "leave out --exclusive"),
        ("--nodes=1", "--nodes=1"),
        ("--time=1 -> --time=1", ""),
    ],
)
def test_a_change_states_what_to_do(line: str, shown: str) -> None:
    assert change(terminal(80), line) == shown


def test_a_number_keeps_its_unit_and_an_option_stays_whole() -> None:
    text = "Idle for 25 min 36 s on --gpus-per-node=8, 62.5 % of 61 GB."
    assert wrapped(text, 16, "- ", "  ") == [
        "- Idle for",
        "  25\u00a0min 36\u00a0s on",
        "  --gpus-per-nod",
        "  e=8, 62.5\u00a0% of",
        "  61\u00a0GB.",
    ]


@given(st.text(max_size=300), st.integers(3, 90), st.sampled_from(["", "- ", "   "]))
def test_a_paragraph_never_leaves_its_width_and_loses_nothing(text: str, columns: int, indent: str) -> None:
    shown = harmless(text)
    lines = wrapped(shown, columns + len(indent) + 2, indent, lines_max=10_000)
    assert all(width(line) <= columns + len(indent) + 2 for line in lines)
    kept = "".join(line[len(indent) :] for line in lines).replace(" ", "").replace("\u00a0", "")
    assert kept == shown.replace(" ", "").replace("\u00a0", "")


def test_a_paragraph_that_is_too_long_ends_with_an_ellipsis() -> None:
    assert wrapped("one two three four", 5, lines_max=2) == ["one", "two …"]
    assert wrapped("three seven", 5, lines_max=1) == ["thre…"]


ROWS = [["1", "漢字漢字漢字", ("80 %", "green")], ["22", "b", "–"]]
COLUMNS = (Column("ID", to_right=True), Column("NAME", rank=1, cut_to=6), Column("USE", to_right=True, rank=2))


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        # 2 + 2 + 12 + 2 + 4: all of it.
        (22, ["ID  NAME           USE", " 1  漢字漢字漢字  80 %", "22  b                –"]),
        # One column too few: the name gives way, by a character of two columns.
        (21, ["ID  NAME          USE", " 1  漢字漢字漢…  80 %", "22  b               –"]),
        # 2 + 2 + 6 + 2 + 4 are 16: at 15 the use goes, and the name has room again.
        (20, ["ID  NAME         USE", " 1  漢字漢字…   80 %", "22  b              –"]),
    ],
)
def test_a_table_gives_way(columns: int, lines: list[str]) -> None:
    assert table(terminal(columns), COLUMNS, ROWS) == lines


@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=9)), max_size=4),
    st.integers(20, 90),
)
def test_no_row_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], columns: int) -> None:
    shown = table(terminal(columns), COLUMNS, [[harmless(cell) for cell in row] for row in rows])
    assert all(width(line) <= columns for line in shown)


def test_colours_do_not_count_as_columns() -> None:
    plain, painted = (table(terminal(20, is_tty=is_tty), COLUMNS, ROWS) for is_tty in (False, True))
    assert painted[1].replace("\x1b[32m", "").replace("\x1b[0m", "") == plain[1]
    assert "\x1b[32m" in painted[1]


def test_parts_that_do_not_fit_are_left_out() -> None:
    assert fitting(["", "one", "two", "3"], 9) == "one · two"
    assert fitting(["漢字漢字"], 5) == "漢字…"
    assert fitting([], 5) == ""


@pytest.mark.parametrize("said", [None, 5, "x", [], {}, {"a": None}, {"a": []}, {"a": {"b": {}}}, {"a": {"b": True}}])
def test_what_an_answer_does_not_state_is_nothing(said: object) -> None:
    assert answers.text(said, "a", "b") == ""
    assert answers.number(said, "a", "b") is None
    assert answers.whole(said, "a", "b") == 0
    assert answers.objects(said, "a", "b") == []
    assert answers.texts(said, "a", "b") == []


def test_a_text_is_harmless_and_limited_when_it_comes_out() -> None:
    assert answers.text({"a": "\x1b[2J"}, "a") == "\ufffd[2J"
    assert len(answers.text({"a": "x" * 10_000}, "a")) == 2000
    assert answers.number({"a": 10**400}, "a") is None
    assert answers.texts({"a": ["\n", 1]}, "a") == ["\ufffd"]
