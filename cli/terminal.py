"""What is printed: harmless, within the width, in colour or plain, UTF-8 or ASCII.

Names of jobs and whatever else others chose may contain escape sequences, marks for text direction or stacks of
accents: `harmless` leaves none of them, and everything that is printed goes through it.
"""

from __future__ import annotations

import os
import sys
import unicodedata

from wire.safe_text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO

COLUMNS_MIN, COLUMNS_MAX, COLUMNS_DEFAULT = 20, 500, 80
MARKS_MAX = 3
"""Accents on one character: Vietnamese has two, Hebrew with vowels three."""
COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
PLAIN = str.maketrans(
    dict(zip("–—−×·•“”‘’…\u00a0\u202f\u2009█░│─₂äöåÄÖÅµ", "---x.*\"\"''~   #.|-2aoaAOAu"))
    | {"→": "->", "≤": "<=", "≥": ">=", "±": "+-"}
)
"""What stands for our own characters, and the letters of our own language, where only ASCII can be shown.

What a line is cut with takes one column in both, so that tables stay within theirs.
"""
COERCED = ("C.UTF-8", "C.utf8", "UTF-8")
FULL, EMPTY = "█", "░"


def harmless(text: object) -> str:
    """One line of text without anything that a terminal obeys: every such character is replaced by a visible one.

    >>> harmless("a\\x1b[31mb\\nc\\u202e")
    'a\\ufffd[31mb\\ufffdc\\ufffd'
    """
    line = printable(str(text))
    if line.isascii():
        return line
    kept: list[str] = []
    marks = 0
    for char in line:
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= MARKS_MAX:
            kept.append(char)
    return "".join(kept)


def harmless_lines(text: str) -> list[str]:
    """The lines of a text that somebody else wrote; tabs as blanks."""
    return [harmless(line.expandtabs(8)) for line in text.replace("\r\n", "\n").split("\n")]


def width(text: str) -> int:
    """The columns that harmless text takes: Chinese characters and emoji take two, accents none.

    >>> width("ab"), width("\\u6f22"), width("e\\u0301")
    (2, 2, 1)
    """
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def cut(text: str, columns: int) -> str:
    """Text within this number of columns; if something is left out, it ends with an ellipsis.

    >>> cut("abcdef", 4), cut("abcd", 4)
    ('abc…', 'abcd')
    """
    if width(text) <= columns:
        return text
    kept, used = "", 0
    for char in text:
        used += _columns(char)
        if used > columns - 1:
            break
        kept += char
    return f"{kept}…" if columns > 0 else ""


def pad(text: str, columns: int, *, to_right: bool = False) -> str:
    """Text cut or filled to exactly this number of columns."""
    fitting = cut(text, columns)
    blanks = " " * (columns - width(fitting))
    return blanks + fitting if to_right else fitting + blanks


def bar(share: float | None, columns: int) -> str:
    """A bar of a share from 0 to 1; what was not measured has none.

    >>> bar(0.5, 4), bar(None, 4), bar(7.0, 4)
    ('██░░', '    ', '████')
    """
    if share is None or share != share:
        return " " * columns
    full = round(min(max(share, 0.0), 1.0) * columns)
    return FULL * full + EMPTY * (columns - full)


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


class Terminal:
    """Where the output goes, and what can be shown there."""

    def __init__(self, environ: Mapping[str, str], out: BinaryIO, *, is_tty: bool) -> None:
        self.environ, self.is_tty = environ, is_tty
        self._out = out
        self.is_utf8 = _is_utf8(environ)
        is_dumb = environ.get("TERM", "") in ("", "dumb")
        # https://no-color.org: present and not empty.
        self.has_colour = is_tty and not is_dumb and not environ.get("NO_COLOR")
        self.can_page = is_tty and not is_dumb
        self.columns, self.rows = _size(environ, is_tty=is_tty)

    def paint(self, text: str, *styles: str) -> str:
        """Harmless text in colours (`COLOURS`), plain where none are shown. Measure its width before."""
        if not self.has_colour or not styles:
            return text
        return f"\033[{';'.join(COLOURS[style] for style in styles)}m{text}\033[0m"

    def line(self, text: str = "") -> None:
        """Print one line of our own, whose foreign parts went through `harmless`."""
        self._out.write(self.encoded(text + "\n"))

    def raw(self, content: bytes) -> None:
        """Bytes as they are: a document that was asked for, such as JSON."""
        self._out.write(content)

    def page(self, lines: Iterable[str]) -> None:
        """Print lines, through the pager if they are more than the terminal has."""
        shown = list(lines)
        if self.can_page and len(shown) >= self.rows:
            self.flush()
            pager = __import__("cli.pager", fromlist=["pager"])
            if pager.show(self.encoded("".join(f"{line}\n" for line in shown)), self.environ):
                return
        for line in shown:
            self.line(line)

    def encoded(self, text: str) -> bytes:
        """Text as the terminal understands it."""
        if self.is_utf8:
            return text.encode("utf-8", "replace")
        return text.translate(PLAIN).encode("ascii", "replace")

    def error(self, text: str) -> None:
        """One line on standard error."""
        write_error(self.encoded(text + "\n"))

    def flush(self) -> None:
        self._out.flush()


def own_environ() -> Mapping[str, str]:
    """The environment as the person set it: in the locale C, Python sets LC_CTYPE to one with UTF-8 (PEP 538)."""
    if os.environ.get("LC_CTYPE") not in COERCED:
        return os.environ
    try:
        with open("/proc/self/environ", "rb") as file:
            before = b"\0" + file.read()
    except OSError:
        return os.environ
    if b"\0LC_CTYPE=" in before:
        return os.environ
    return {name: value for name, value in os.environ.items() if name != "LC_CTYPE"}


def write_error(content: bytes) -> None:
    """To standard error; where nobody reads it, the exit status is all that is left to say."""
    try:
        os.write(2, content)
    except OSError:
        return


def standard_output(environ: Mapping[str, str]) -> Terminal:
    """The terminal, pipe or file that the output goes to. Raises OSError if it was closed."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    return Terminal(environ, sys.stdout.buffer, is_tty=sys.stdout.isatty())


def _is_utf8(environ: Mapping[str, str]) -> bool:
    """As the locale says: the first of these variables that is set decides (POSIX, section 8.2)."""
    named = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    return named.lower().replace("-", "").partition(".")[2].startswith("utf8")


def _size(environ: Mapping[str, str], *, is_tty: bool) -> tuple[int, int]:
    """Columns and rows."""
    try:
        columns, rows = os.get_terminal_size(1) if is_tty else (0, 0)
    except OSError:
        columns, rows = 0, 0
    if (named := environ.get("COLUMNS", "")).isdecimal() and len(named) < 6:
        columns = int(named)
    return min(max(columns or COLUMNS_DEFAULT, COLUMNS_MIN), COLUMNS_MAX), rows or 24
