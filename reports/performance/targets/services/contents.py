"""What the automatic export writes of a batch of runs: a document for each, or one table of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.models import ExportBatch
from jobs.models import Job
from reports.performance.parquet import parquet_file
from reports.performance.rows import PerformanceRow
from reports.performance.selectors import performance_rows
from reports.performance.tables import csv_table, json_lines
from reports.performance.targets.names import part_name

TABLES: dict[str, Callable[[Iterable[PerformanceRow]], Iterator[bytes]]] = {
    "jsonl": json_lines,
    "csv": csv_table,
    "parquet": parquet_file,
}
"""How the rows of a batch are written, by format, which is also how the names of the files end."""

RUNS_TOGETHER = dict.fromkeys(TABLES, 5000)
"""Runs of one batch: some megabytes of a table."""


@dataclass(frozen=True)
class File:
    """One file of a batch, and the runs that need nothing more once the target has it.

    Runs that were deleted meanwhile have no content.
    """

    name: str
    content: bytes | None
    runs: Sequence[int]


def files_of(batch: ExportBatch, job_pks: Sequence[int], form: str) -> Iterator[File]:
    """The files of these runs, each made when it is needed; every run belongs to one of them."""
    runs = Job.objects.filter(pk__in=job_pks, efficiency__isnull=False).order_by("pk")
    rows = list(performance_rows(runs))
    content = b"".join(TABLES[form](rows)) if rows else None
    yield File(part_name(batch.pk, batch.opened_at, form), content, job_pks)
