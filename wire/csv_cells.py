"""Tables in CSV (RFC 4180) in which no spreadsheet executes a text, and that a program reads back as they were."""

from __future__ import annotations

import csv
import io
import re

from wire.safe_text import printable_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMULA_STARTS = "=+@＝＋－＠-"
"""The first characters of a formula, also in full width (OWASP, CSV injection)."""

PREFIX = r"""((?:^|[;\t\n\r|])[\s"]*)"""
"""Where a cell starts, also if a spreadsheet's separator is not a comma: it splits what commas quote."""

FORMULA = re.compile(rf"{PREFIX}(?='*[{FORMULA_STARTS}])")
MARKED = re.compile(rf"{PREFIX}'(?='*[{FORMULA_STARTS}])")


def marked(text: str) -> str:
    """The text with an apostrophe before each formula, and before apostrophes that stand before one already.

    >>> marked("=1+1"), marked("'=1+1"), marked("5-3"), marked("x;@SUM(A1)")
    ("'=1+1", "''=1+1", '5-3', "x;'@SUM(A1)")
    """
    return FORMULA.sub(r"\1'", text)


def unmarked(cell: str) -> str:
    """What `marked` was made of.

    >>> unmarked("'=1+1"), unmarked("''=1+1"), unmarked("'tis")
    ('=1+1', "'=1+1", "'tis")
    """
    return MARKED.sub(r"\1", cell)


def csv_lines(rows: Iterable[Iterable[object]], line_end: str = "\r\n") -> Iterator[str]:
    """Each row as a line in which no text is a formula, and none is hidden.

    >>> list(csv_lines([("=1+1", 2.5, None)]))
    ["'=1+1,2.5,\\r\\n"]
    """
    for row in rows:
        yield csv_text([map(_cell, row)], line_end)


def csv_text(rows: Iterable[Iterable[object]], line_end: str = "\r\n") -> str:
    """Rows whose texts are `marked` already."""
    written = io.StringIO(newline="")
    csv.writer(written, lineterminator=line_end).writerows(rows)
    return written.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = marked(printable_lines(value))
    return f"'{text}" if text.startswith(("\t", "\n", "\r")) else text
