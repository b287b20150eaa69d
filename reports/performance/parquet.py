"""Rows as a Parquet file that is written part by part; its metadata contains the data dictionary."""

from collections.abc import Iterable, Iterator
from io import BytesIO

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from reports.performance.rows import COLUMNS, SCHEMA, Column, PerformanceRow, dictionary
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


def parquet_file(rows: Iterable[PerformanceRow]) -> Iterator[bytes]:
    """A Parquet file in parts; each column has the type of the data dictionary."""
    written = BytesIO()
    with pq.ParquetWriter(written, ARROW_SCHEMA, compression="zstd") as writer:
        for some in batches(rows, ROWS_IN_GROUP):
            columns = zip(*map(msgspec.structs.astuple, some), strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, ARROW_SCHEMA, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=ARROW_SCHEMA), row_group_size=ROWS_IN_GROUP)
            yield _taken(written)
    yield _taken(written)


def _taken(written: BytesIO) -> bytes:
    """What came since the last time, which is then no longer in memory."""
    part = written.getvalue()
    written.seek(0)
    written.truncate()
    return part
