"""Rows as JSON lines and as CSV, the same values in both, and as the comments that Slurm's accounting gets."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

import msgspec

from analysis.comments.text import comment_text
from analysis.efficiency import EfficiencyClass
from reports.performance.rows import COLUMNS, Kind, PerformanceRow
from wire.csv_cells import csv_text, marked

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

    A text that a spreadsheet would execute has an apostrophe before it (`wire.csv_cells.unmarked` removes it).
    """
    yield csv_text([[column.name for column in COLUMNS]]).encode()
    for some in batches(rows, ROWS_TOGETHER):
        columns = zip(*map(msgspec.structs.astuple, some), strict=True)
        shown = [CELLS[column.type](values) for column, values in zip(COLUMNS, columns, strict=True)]
        yield csv_text(zip(*shown, strict=True)).encode("utf-8", "replace")


def _texts(values: Iterable[str | None]) -> list[str | None]:
    return [value if value is None or value.isalnum() else _marked(value) for value in values]


def _times(values: Iterable[datetime | None]) -> list[str | None]:
    return [at if at is None else instant(at) for at in values]


def _flags(values: Iterable[bool | None]) -> list[str | None]:
    return [value if value is None else "true" if value else "false" for value in values]


_marked = lru_cache(maxsize=10_000)(marked)
"""Most texts are the same in many rows."""

CELLS: dict[Kind, Callable[[Iterable[Any]], Iterable[object]]] = {
    **{"text": _texts, "time": _times, "boolean": _flags},
    **{"integer": tuple, "number": tuple},
}
"""The cells of a column, by the type of its values."""


def instant(at: datetime) -> str:
    """RFC 3339 in UTC.

    >>> instant(datetime(2026, 11, 20, 10, 0, tzinfo=UTC))
    '2026-11-20T10:00:00Z'
    """
    in_utc = at if at.tzinfo is UTC else at.astimezone(UTC)
    return f"{in_utc.isoformat()[:-6]}Z"


def comment_line(row: PerformanceRow) -> str:
    """The comment of one run (`analysis.comments.text`)."""
    name = EfficiencyClass(row.efficiency_class or EfficiencyClass.UNKNOWN)
    return comment_text(name, row.avg_gpu_util_percent, is_class_shown=name != EfficiencyClass.UNKNOWN)


def comment_lines(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """A line for each run: its name, as commands take it, and its comment."""
    for row in rows:
        attempt = f".{row.attempt}" if row.attempt else ""
        yield f"{row.cluster}/{row.job_id}{attempt} {comment_line(row)}\n".encode()
