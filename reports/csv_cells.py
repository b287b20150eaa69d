"""Texts in CSV that no spreadsheet executes as a formula, and that a program reads back as they were."""

from __future__ import annotations

import re

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
