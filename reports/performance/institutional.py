"""The anonymised rows of a month as a file for other sites: JSON lines, CSV, or Parquet."""

from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from itertools import chain

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.anonymous.bands import COLUMNS
from analysis.anonymous.grouping import PROJECTS_MIN
from analysis.anonymous.lines import SCHEMA, Head
from analysis.anonymous.month import AnonymousFigures, rows_of
from analysis.feedback import GROUP_USERS_MIN
from reports.performance.tables import batches
from wire.csv_cells import csv_text, marked

ROWS_TOGETHER = 2000
NAMES = ("month", "key", *COLUMNS)
"""The columns of CSV and Parquet; JSON lines state the month once, in the first line."""


def head_of(figures: AnonymousFigures, site: str, month: str) -> Head:
    """What is stated before the rows."""
    return Head(
        schema=SCHEMA,
        site=site,
        month=month,
        rows=figures.count,
        people_min=GROUP_USERS_MIN,
        projects_min=PROJECTS_MIN,
        withheld=figures.withheld,
    )


def json_lines(figures: AnonymousFigures, head: Head) -> Iterator[bytes]:
    """The head, then one row a line."""
    encoder = msgspec.json.Encoder()
    for some in batches(chain([head], rows_of(figures)), ROWS_TOGETHER):
        yield encoder.encode_lines(some)


def csv_table(figures: AnonymousFigures, head: Head) -> Iterator[bytes]:
    """RFC 4180; what of the head is no row is not in it."""
    yield csv_text([NAMES]).encode()
    for some in batches(rows_of(figures), ROWS_TOGETHER):
        yield csv_text([head.month, *map(marked, row.values())] for row in some).encode()


def parquet_file(figures: AnonymousFigures, head: Head) -> Iterator[bytes]:
    """One table of texts; the head is in the metadata under `head`."""
    columns = {name: pa.array((row[name] for row in rows_of(figures)), pa.string()) for name in NAMES[1:]}
    months = pa.array([head.month] * figures.count, pa.string())
    table = pa.table({"month": months, **columns}).replace_schema_metadata(
        {"schema": SCHEMA, "head": msgspec.json.encode(head)}
    )
    written = BytesIO()
    pq.write_table(table, written, compression="zstd")
    yield written.getvalue()


FORMATS: Mapping[str, Callable[[AnonymousFigures, Head], Iterator[bytes]]] = {
    "jsonl": json_lines,
    "csv": csv_table,
    "parquet": parquet_file,
}
