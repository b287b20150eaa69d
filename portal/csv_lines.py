"""Tables for other programs, line by line; no text in them is run by a spreadsheet, nor hides anything in it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator

from jobs.records import printable_lines

FORMULA_STARTS = "=+@＝＋－＠-"
"""What begins a formula, also in full width (OWASP, CSV injection)."""

CELL_STARTS = re.compile(rf"""((?:^|[;\t\n\r|])[\s"]*)(?=[{FORMULA_STARTS}])""")
"""Where a formula would begin a cell, also where a spreadsheet's separator is no comma: it splits what commas quote."""


class Line:
    """What `csv` writes to: it hands each line back."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Each row as a line of RFC 4180."""
    writer = csv.writer(Line())
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def _cell(value: object) -> object:
    """Where a text would be run as a formula, it is marked as text."""
    if not isinstance(value, str):
        return value
    marked = CELL_STARTS.sub(r"\1'", printable_lines(value))
    return f"'{marked}" if marked.startswith(("\t", "\n", "\r")) else marked
