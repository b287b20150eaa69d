"""Tables for other programs, line by line; no text in them is run by a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


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
    """A text that a spreadsheet would run as a formula is marked as text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
