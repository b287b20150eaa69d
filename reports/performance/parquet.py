"""Rows as a Parquet file that is written part by part; its metadata contains the data dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from reports.performance.dictionary import dictionary
from reports.performance.rows import COLUMNS, SCHEMA, Column, PerformanceRow
from reports.performance.tables import batches

ROWS_IN_GROUP = 10_000
"""Rows that are in memory at a time, and one row group of the file: about 10 MB before they are packed."""

TYPES = {
    "text": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
}


def _field(column: Column) -> pa.Field:
    described = {"description": column.description, "unit": column.unit, "source": column.source}
    return pa.field(column.name, TYPES[column.type], nullable=column.is_nullable, metadata=described)


ARROW_SCHEMA = pa.schema(
    [_field(column) for column in COLUMNS],
    metadata={"schema": SCHEMA, "dictionary": msgspec.json.encode(dictionary())},
)


class Parts:
    """The file that Parquet is written to: it keeps what came until somebody takes it."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.closed = False

    def write(self, part: bytes) -> int:
        self.kept.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def taken(self) -> bytes:
        """What came since the last time."""
        part = b"".join(self.kept)
        self.kept.clear()
        return part


def parquet_file(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """A Parquet file in parts; each column has the type of the data dictionary."""
    parts = Parts()
    with pq.ParquetWriter(parts, ARROW_SCHEMA, compression="zstd") as writer:
        for some in batches(rows, ROWS_IN_GROUP):
            columns = zip(*map(msgspec.structs.astuple, some), strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, ARROW_SCHEMA, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=ARROW_SCHEMA), row_group_size=ROWS_IN_GROUP)
            yield parts.taken()
    yield parts.taken()
