"""Rows as JSON lines and as CSV: the same values in both, some rows in memory at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from io import StringIO
from itertools import islice
from typing import Any, TypeVar

import msgspec

from reports.csv_cells import marked
from reports.performance.rows import COLUMNS, Kind, PerformanceRow

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
        columns = zip(*map(msgspec.structs.astuple, some), strict=True)
        shown = [CELLS[column.type](values) for column, values in zip(COLUMNS, columns, strict=True)]
        yield _lines(zip(*shown, strict=True))


def _lines(rows: Iterable[Sequence[object]]) -> bytes:
    written = StringIO(newline="")
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8", "replace")


def _texts(values: Iterable[str | None]) -> list[str | None]:
    return [value if value is None or value.isalnum() else _marked(value) for value in values]


def _times(values: Iterable[datetime | None]) -> list[str | None]:
    return [at if at is None else instant(at) for at in values]


def _flags(values: Iterable[bool | None]) -> list[str | None]:
    return [value if value is None else "true" if value else "false" for value in values]


def _numbers(values: Iterable[object]) -> Iterable[object]:
    return values


_marked = lru_cache(maxsize=10_000)(marked)
"""Most texts are the same in many rows."""

CELLS: dict[Kind, Callable[[Iterable[Any]], Iterable[object]]] = {
    **{"text": _texts, "time": _times, "boolean": _flags},
    **{"integer": _numbers, "number": _numbers},
}
"""The cells of a column, by the type of its values."""


def instant(at: datetime) -> str:
    """RFC 3339 in UTC.

    >>> instant(datetime(2026, 11, 20, 10, 0, tzinfo=UTC))
    '2026-11-20T10:00:00Z'
    """
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{in_utc.isoformat()[:-6]}Z"
