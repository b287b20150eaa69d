"""Rows as JSON lines and as CSV: the same values in both, some rows in memory at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO
from itertools import islice
from typing import TypeVar

import msgspec

from reports.csv_cells import marked
from reports.performance.rows import COLUMNS, PerformanceRow

ROWS_TOGETHER = 500
"""Rows in one part of an answer: about 0.5 MB."""

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The same items in lists of at most `size`.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while some := list(islice(remaining, size)):
        yield some


def json_lines(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """One JSON object a line, every column in each; null where a value is not known."""
    encoder = msgspec.json.Encoder()
    for some in batches(rows, ROWS_TOGETHER):
        yield encoder.encode_lines(some)


def csv_table(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """RFC 4180 in UTF-8: the names of the columns, then a line for each row; an empty cell is not known.

    A text that a spreadsheet would execute has an apostrophe before it (`reports.csv_cells.unmarked` removes it).
    """
    yield _lines([[column.name for column in COLUMNS]])
    for some in batches(rows, ROWS_TOGETHER):
        yield _lines([[_cell(value) for value in msgspec.structs.astuple(row)] for row in some])


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    written = StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, bool):
        return str(value).lower()
    return instant(value) if isinstance(value, datetime) else value


def instant(at: datetime) -> str:
    """RFC 3339 in UTC.

    >>> instant(datetime(2026, 11, 20, 10, 0, tzinfo=UTC))
    '2026-11-20T10:00:00Z'
    """
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
