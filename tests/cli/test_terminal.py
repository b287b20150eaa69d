"""What is printed: hostile text harmless, widths by hand, colours and characters only where they can be shown."""

from __future__ import annotations

import io

import pytest

from cli.terminal import Terminal, bar, cut, harmless, harmless_lines, pad, width

UTF8 = {"LANG": "en_US.UTF-8", "TERM": "xterm"}


def terminal(environ: dict[str, str], *, is_tty: bool = True) -> tuple[Terminal, io.BytesIO]:
    out = io.BytesIO()
    return Terminal(environ, out, is_tty=is_tty), out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("train_bert", "train_bert"),
        ("\x1b[31mred\x1b]0;title\x07", "\ufffd[31mred\ufffd]0;title\ufffd"),
        ("\x9b31m", "\ufffd31m"),
        ("a\r\nb\tc\x00\x7f", "a\ufffd\ufffdb\ufffdc\ufffd\ufffd"),
        ("exe\u202egpj\u2066\u200e\u061c", "exe\ufffdgpj\ufffd\ufffd\ufffd"),
        ("a\u200bb\ufeff\U000e0041", "a\ufffdb\ufffd\ufffd"),
        ("\u2028\ud800", "\ufffd\ufffd"),
        ("e" + "\u0301" * 50, "e\u0301\u0301\u0301"),
        ("62.5\u00a0%", "62.5\u00a0%"),
        ("漢字 Größe", "漢字 Größe"),
    ],
)
def test_a_name_obeys_nobody(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_a_text_keeps_its_lines() -> None:
    assert harmless_lines("a\tb\r\n\x1b[2J\n") == ["a       b", "\ufffd[2J", ""]


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("🚀", 2), ("Größe", 5)])
def test_widths(text: str, columns: int) -> None:
    assert width(text) == columns


def test_cutting_and_filling_count_columns_not_characters() -> None:
    assert cut("漢字漢字", 5) == "漢字…"
    assert pad("漢", 4) == "漢  "
    assert pad("7", 3, to_right=True) == "  7"
    assert (cut("abc", 0), cut("abc", 1)) == ("", "…")


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "░░░░"), (1.0, "████"), (-3.0, "░░░░"), (float("nan"), "    "), (None, "    ")]
)
def test_bars(share: float | None, drawn: str) -> None:
    assert bar(share, 4) == drawn


@pytest.mark.parametrize(
    ("environ", "is_tty", "is_coloured"),
    [
        (UTF8, True, True),
        (UTF8, False, False),
        (UTF8 | {"NO_COLOR": "1"}, True, False),
        (UTF8 | {"NO_COLOR": ""}, True, True),
        (UTF8 | {"TERM": "dumb"}, True, False),
        ({"LANG": "C"}, True, False),
    ],
)
def test_colours_are_for_terminals_that_have_them(environ: dict[str, str], is_tty: bool, is_coloured: bool) -> None:
    shown, _ = terminal(environ, is_tty=is_tty)
    assert (shown.paint("x", "red") == "\033[31mx\033[0m") is is_coloured


@pytest.mark.parametrize(
    ("environ", "is_utf8"),
    [
        ({"LANG": "fi_FI.utf8"}, True),
        ({"LC_ALL": "C", "LANG": "fi_FI.UTF-8"}, False),
        ({"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}, True),
        ({}, False),
    ],
)
def test_ascii_is_enough_where_the_locale_says_so(environ: dict[str, str], is_utf8: bool) -> None:
    shown, out = terminal(environ, is_tty=False)
    shown.line("62.5\u00a0% … ██░ × 漢 → Mäkelä")
    wanted = "62.5\u00a0% … ██░ × 漢 → Mäkelä\n" if is_utf8 else "62.5 % ~ ##. x ? -> Makela\n"
    assert out.getvalue().decode() == wanted


def test_the_width_is_sensible_whatever_is_claimed() -> None:
    claims = {"COLUMNS": "100"}, {"COLUMNS": "99999"}, {"COLUMNS": "1"}, {"COLUMNS": "x"}, {}
    assert [terminal(claim, is_tty=False)[0].columns for claim in claims] == [100, 500, 20, 80, 80]


def test_what_is_longer_than_the_terminal_goes_through_the_pager(tmp_path) -> None:
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/shown\n")
    pager.chmod(0o755)
    shown, out = terminal(UTF8 | {"KAIKU_PAGER": str(pager)})
    shown.page(f"line {number}" for number in range(shown.rows))
    assert (tmp_path / "shown").read_text().count("line") == shown.rows
    assert out.getvalue() == b""
    shown.page(["short"])
    assert out.getvalue() == b"short\n"


@pytest.mark.parametrize("pager", ["", "cat", "no-such-pager-here -R", "'"])
def test_without_a_pager_it_is_printed(pager: str) -> None:
    shown, out = terminal(UTF8 | {"KAIKU_PAGER": pager})
    shown.page(["line"] * 100)
    assert out.getvalue() == b"line\n" * 100
