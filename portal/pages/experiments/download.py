"""The table of runs for other programs: CSV and JSON, row by row, with the columns that the page shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from jobs.selectors import reach_of
from portal.access import person, visible_experiment
from portal.csv_lines import csv_lines
from portal.pages.experiments.choices import choices_in
from portal.pages.experiments.query import offered_columns
from portal.pages.experiments.rows import RunRow, TableColumns, all_rows, columns_of
from portal.rate_limits import DOWNLOADS, limited

FIXED = (
    *("run_id", "name", "status", "status_by", "started_at", "ended_at", "seconds", "jobs", "gpu_hours", "gpus"),
    *("progress_unit", "progress_per_s", "gpu_hours_per_1000"),
)
FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


@require_GET
@login_required
@limited(DOWNLOADS)
def experiment_table(request: HttpRequest, pk: int, name: str) -> StreamingHttpResponse:
    """Every run that the same address shows on the page; 404 for a stranger."""
    experiment, choices = visible_experiment(request, pk), choices_in(request.GET)
    columns = columns_of(offered_columns(experiment), choices)
    rows = all_rows(experiment, choices, columns, reach_of(person(request)))
    made = WRITERS[name](columns, rows)
    disposition = {"Content-Disposition": f'attachment; filename="kaiku-experiment-{pk}-table.{name}"'}
    return StreamingHttpResponse(made, content_type=FORMATS[name], headers=disposition)


def _csv(columns: TableColumns, rows: Iterable[RunRow]) -> Iterator[str]:
    def lines() -> Iterator[list[object]]:
        named = [f"config.{name}" for name in columns.params]
        yield [*FIXED, *named, *(f"metric.{name}.{columns.value}" for name in columns.metrics)]
        for row in rows:
            fixed = _fixed(row) | {"jobs": " ".join(link.label for link in row.jobs)}
            values = [
                *fixed.values(),
                *row.params,
                *(value if value is None else _number(value) for value in row.values),
            ]
            yield ["" if value is None else value for value in values]

    return csv_lines(lines())


def _json(columns: TableColumns, rows: Iterable[RunRow]) -> Iterator[bytes]:
    """A list, each run on its own line; a value that is no number of JSON is a text."""
    yield b"["
    for place, row in enumerate(rows):
        config = {name: text for name, text in zip(columns.params, row.params, strict=True) if text is not None}
        values = zip(columns.metrics, row.values, strict=True)
        metrics = {name: {columns.value: _number(value)} for name, value in values if value is not None}
        whole = _fixed(row) | {"config": config, "metrics": metrics}
        yield (b",\n" if place else b"\n") + msgspec.json.encode(whole)
    yield b"\n]\n"


def _fixed(row: RunRow) -> dict[str, object]:
    run, rates = row.run, row.progress.rates
    steps = rates.steps if rates else None
    values = (
        *(run.run_id, run.name, run.status, row.status.by.removeprefix("the ").lower()),
        run.started_at.isoformat(),
        run.ended_at.isoformat() if run.ended_at else None,
        round(row.seconds, 3),
        [link.label for link in row.jobs],
        *(row.gpu_hours, row.progress.gpus),
        *((steps.unit.value, steps.per_s, steps.gpu_hours_per_1000) if steps else (None, None, None)),
    )
    return dict(zip(FIXED, values, strict=True))


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinities.

    >>> _number(0.5), _number(float("nan")), _number(float("-inf"))
    (0.5, 'NaN', '-Infinity')
    """
    return value if value - value == 0 else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[f"{value}"]


WRITERS: dict[str, Callable[[TableColumns, Iterable[RunRow]], Iterator[str] | Iterator[bytes]]] = {
    "csv": _csv,
    "json": _json,
}
