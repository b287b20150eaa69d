"""Exports of runs in each format, part by part; whose runs they are decides the caller, with a queryset."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db.models import QuerySet

from jobs.models import Job
from jobs.records import ENDED_STATES
from reports.performance.learning.selectors import learning_documents
from reports.performance.parquet import parquet_file
from reports.performance.rows import PerformanceRow
from reports.performance.selectors import performance_rows
from reports.performance.tables import comment_line, comment_lines, csv_table, json_lines


@dataclass(frozen=True)
class ExportFormat:
    """One way to write runs: `write` takes any number of them, `write_one` a single one, where that is different."""

    ending: str
    content_type: str
    write: Callable[[QuerySet[Job]], Iterator[bytes]]
    write_one: Callable[[QuerySet[Job]], Iterator[bytes]] | None = None
    is_binary: bool = False

    def one(self, run: Job) -> Iterator[bytes]:
        """This run alone."""
        return (self.write_one or self.write)(Job.objects.filter(pk=run.pk))


def ended_runs(runs: QuerySet[Job], since: datetime | None = None, until: datetime | None = None) -> QuerySet[Job]:
    """Those of these runs that ended, from `since` on and before `until`, in the order of their ends."""
    ended = runs.filter(state__in=ENDED_STATES, ended_at__isnull=False)
    if since is not None:
        ended = ended.filter(ended_at__gte=since)
    if until is not None:
        ended = ended.filter(ended_at__lt=until)
    return ended.order_by("ended_at", "pk")


def _of_rows(
    write: Callable[[Iterable[PerformanceRow]], Iterator[bytes]],
) -> Callable[[QuerySet[Job]], Iterator[bytes]]:
    return lambda runs: write(performance_rows(runs))


def _documents(runs: QuerySet[Job]) -> Iterator[bytes]:
    """A JSON array with one document a line."""
    yield b"["
    before = b"\n"
    for document in learning_documents(runs):
        yield before + msgspec.json.encode(document)
        before = b",\n"
    yield b"\n]\n"


def _document(runs: QuerySet[Job]) -> Iterator[bytes]:
    """One document, to be read."""
    for document in learning_documents(runs):
        yield msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _comment(runs: QuerySet[Job]) -> Iterator[bytes]:
    """The comment alone, as Slurm gets it."""
    for row in performance_rows(runs):
        yield f"{comment_line(row)}\n".encode()


FORMATS = {
    "learning": ExportFormat("json", "application/json", _documents, _document),
    "jsonl": ExportFormat("jsonl", "application/jsonl", _of_rows(json_lines)),
    "csv": ExportFormat("csv", "text/csv; charset=utf-8", _of_rows(csv_table)),
    "parquet": ExportFormat("parquet", "application/vnd.apache.parquet", _of_rows(parquet_file), is_binary=True),
    "slurm-comment": ExportFormat("txt", "text/plain; charset=utf-8", _of_rows(comment_lines), _comment),
}
"""By the name that commands take; addresses of the API end with `ending`."""

BY_ENDING = {form.ending: form for form in FORMATS.values()}
