"""The words of a directive line as sbatch splits them, with the places where they stand.

Observed on Slurm 22.05.8: quotes and backslashes as in a shell, but an unquoted "#" cuts the line even inside a word,
an empty word ends the line, and a blank after a backslash still ends the word before 24.05.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BLANKS = " \t\n\v\f\r"
PIECE = re.compile(
    r"""(?P<plain>[^ \t\n\v\f\r"'\\#]+)
    | "(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"
    | '(?P<single>[^'\\]*(?:\\.[^'\\]*)*)'
    | \\(?P<escaped>[^ \t\n\v\f\r])
    | \\(?P<blank>[ \t\n\v\f\r])
    | \\(?P<last>\Z)""",
    re.VERBOSE | re.DOTALL,
)
BLANK = re.compile(f"[{BLANKS}]*")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPED_BLANK_SINCE = "24.05"


class Word(NamedTuple):
    """A word without its quotes. `start` and `end` count characters of the script; `line` counts from 1, 0 is none."""

    text: str
    start: int = 0
    end: int = 0
    line: int = 0


class Cut(NamedTuple):
    """Why the words of a line end before the line does: "hash", "hash_in_word", "empty", "colon" or "quote"."""

    reason: str
    at: int


def words_of(text: str, start: int, end: int, line: int, version: str) -> tuple[list[Word], Cut | None]:
    """The words of `text[start:end]`, and what cut them short.

    >>> words_of('--job-name="my job" -t5#x', 0, 25, 3, "22.05")
    ([Word(text='--job-name=my job', start=0, end=19, line=3), Word(text='-t5', start=20, end=23, line=3)], \
Cut(reason='hash_in_word', at=23))
    """
    words: list[Word] = []
    while True:
        first = _after_blanks(text, start, end)
        if first >= end:
            return words, None
        if text[first] in "#:":
            return words, Cut("hash" if text[first] == "#" else "colon", first)
        word, start, is_open = _word(text, first, end, version)
        if is_open:
            return words, Cut("quote", start)
        if not word:
            return words, Cut("empty", first)
        words.append(Word(word, first, start, line))
        if start < end and text[start] == "#":
            return words, Cut("hash_in_word", start)


def _after_blanks(text: str, start: int, end: int) -> int:
    found = BLANK.match(text, start, end)
    return found.end() if found else start


def _word(text: str, start: int, end: int, version: str) -> tuple[str, int, bool]:
    """A word, where it ends, and whether a quote in it is never closed."""
    parts: list[str] = []
    at = start
    while at < end:
        found = PIECE.match(text, at, end)
        if found is None:
            return "".join(parts), at, text[at] in "\"'"
        if found.lastgroup == "blank" and version < ESCAPED_BLANK_SINCE:
            return "".join(parts), found.end(), False
        at = found.end()
        parts.append(_plain(found))
    return "".join(parts), at, False


def _plain(found: re.Match[str]) -> str:
    group = found.lastgroup or "last"
    inner = found[group]
    return ESCAPE.sub(r"\1", inner) if group in ("double", "single") and "\\" in inner else inner


def quoted(word: str) -> str:
    r"""The word so that sbatch reads it as one, quoted only where it has to be.

    >>> print(quoted("--mem=4G"), quoted("--job-name=my job"), quoted('--comment=a"b'))
    --mem=4G "--job-name=my job" "--comment=a\"b"
    """
    if word and not re.search(f"[{BLANKS}\"'\\\\#]", word) and word[0] != ":":
        return word
    inner = re.sub(r'(["\\])', r"\\\1", word)
    return f'"{inner}"'
