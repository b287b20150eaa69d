"""The table of runs for other programs, as the page shows it but whole: CSV and JSON, row by row."""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone

from jobs.selectors import reach_of
from portal.access import person, signed_in_page, visible_experiment
from portal.charts.logged_runs import json_number
from portal.charts.run_table import fixed_values, table_lines
from portal.downloads import CSV, streamed
from portal.pages.experiments.choices import choices_in
from portal.pages.experiments.query import offered_columns
from portal.pages.experiments.rows import RunRow, TableColumns, all_rows, columns_of
from portal.rate_limits import DOWNLOADS, limited
from wire.csv_cells import csv_lines

FORMATS = {"csv": CSV, "json": "application/json"}


@signed_in_page
@limited(DOWNLOADS)
def experiment_table(request: HttpRequest, pk: int, name: str) -> StreamingHttpResponse:
    """Every run that the same address shows on the page; 404 for a stranger."""
    experiment, choices = visible_experiment(request, pk), choices_in(request.GET)
    columns = columns_of(offered_columns(experiment), choices)
    rows = all_rows(experiment, choices, columns, reach_of(person(request)), timezone.now())
    return streamed(WRITERS[name](columns, rows), f"kaiku-experiment-{pk}-table.{name}", FORMATS[name])


def _csv(columns: TableColumns, rows: Iterable[RunRow]) -> Iterator[str]:
    runs = (row.shown for row in rows)
    return csv_lines(table_lines(runs, columns.params, columns.tags, columns.metrics, [columns.value]))


def _json(columns: TableColumns, rows: Iterable[RunRow]) -> Iterator[bytes]:
    """A list, each run on its own line; a value that is no number of JSON is a text."""
    yield b"["
    for place, row in enumerate(rows):
        values = zip(columns.metrics, row.values, strict=True)
        of_run = {
            "config": _known(columns.params, row.params),
            "tags": _known(columns.tags, row.tags),
            "metrics": {name: {columns.value: json_number(value)} for name, value in values if value is not None},
        }
        yield (b",\n" if place else b"\n") + msgspec.json.encode(fixed_values(row.shown) | of_run)
    yield b"\n]\n"


def _known(names: Iterable[str], texts: Iterable[str | None]) -> dict[str, str]:
    return {name: text for name, text in zip(names, texts, strict=True) if text is not None}


WRITERS: dict[str, Callable[[TableColumns, Iterable[RunRow]], Iterator[str] | Iterator[bytes]]] = {
    "csv": _csv,
    "json": _json,
}
