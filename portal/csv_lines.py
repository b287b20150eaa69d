"""Tables for other programs, line by line; a spreadsheet executes no text in them, and no text is hidden."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from jobs.records import printable_lines
from reports.csv_cells import marked


class Line:
    """The target that `csv` writes to: it returns each line."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Each row as a line of RFC 4180."""
    writer = csv.writer(Line())
    for row in rows:
        yield writer.writerow([_cell(value) for value in row])


def _cell(value: object) -> object:
    """Text that a spreadsheet would execute as a formula is marked as text."""
    if not isinstance(value, str):
        return value
    text = marked(printable_lines(value))
    return f"'{text}" if text.startswith(("\t", "\n", "\r")) else text
