"""The rows of the table of runs: one page of them, or all for a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Digest
from jobs.experiments.selectors import digests_of
from jobs.selectors import Reach
from portal.charts.logged_runs import (
    JobLink,
    RunStatus,
    job_links,
    metric_number,
    run_label,
    seconds_of,
    shown,
    status_of,
    total_gpu_hours,
)
from portal.charts.progress import Progress, progress_of_runs
from portal.pages.experiments.choices import RunChoices
from portal.pages.experiments.query import Offered, chosen_runs, ordered_keys

PAGE_SIZE, TOGETHER = 25, 50
TEXT_SHOWN_MAX = 40


@dataclass(frozen=True)
class RunRow:
    """One run with the values of the chosen columns; None where it has none of that name."""

    run: ExperimentRun
    label: str
    status: RunStatus
    seconds: float
    jobs: tuple[JobLink, ...]
    gpu_hours: float | None
    progress: Progress
    params: tuple[str | None, ...]
    values: tuple[float | None, ...]

    @property
    def cells(self) -> list[str]:
        """The values of parameters and metrics as the page shows them."""
        texts = ["\N{EN DASH}" if text is None else shown(text, TEXT_SHOWN_MAX) for text in self.params]
        return texts + [metric_number(value) for value in self.values]


@dataclass(frozen=True)
class RunPage:
    """One page of the table; `count` is the number of all runs that are asked for."""

    rows: tuple[RunRow, ...]
    number: int
    pages: int
    count: int


@dataclass(frozen=True)
class TableColumns:
    """The chosen columns: names of parameters, names of metrics, and which value of these is shown."""

    params: tuple[str, ...]
    metrics: tuple[str, ...]
    value: str


def columns_of(offered: Offered, choices: RunChoices) -> TableColumns:
    """The columns that are shown."""
    return TableColumns(offered.shown_params(choices), offered.shown_metrics(choices), choices.value)


def run_page(experiment: Experiment, choices: RunChoices, columns: TableColumns, reach: Reach) -> RunPage:
    """The asked page of the runs that are asked for, the last one where it is beyond."""
    keys = ordered_keys(chosen_runs(experiment, choices), choices)
    pages = max(-(-len(keys) // PAGE_SIZE), 1)
    number = min(choices.page, pages)
    part = keys[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    return RunPage(tuple(_rows(experiment, part, columns, reach)), number, pages, len(keys))


def all_rows(experiment: Experiment, choices: RunChoices, columns: TableColumns, reach: Reach) -> Iterator[RunRow]:
    """Every run that is asked for, read some at a time."""
    keys = ordered_keys(chosen_runs(experiment, choices), choices)
    for first in range(0, len(keys), TOGETHER):
        yield from _rows(experiment, keys[first : first + TOGETHER], columns, reach)


def value_of(digest: Digest | None, value: str) -> float | None:
    """The last, least or greatest value of a metric; None where it has none."""
    found: float | None = getattr(digest, f"{value}_value") if digest else None
    return found


def _rows(experiment: Experiment, keys: Sequence[int], columns: TableColumns, reach: Reach) -> Iterator[RunRow]:
    by_key = experiment.runs.defer("tags").in_bulk(keys)
    runs = [by_key[key] for key in keys if key in by_key]
    digests, jobs = digests_of(runs, columns.metrics), job_links(runs, reach)
    progress = progress_of_runs(runs, jobs)
    for run in runs:
        links, of_run = jobs.get(run.pk, ()), digests[run.pk]
        yield RunRow(
            run=run,
            label=run_label(run),
            status=status_of(run),
            seconds=seconds_of(run),
            jobs=links,
            gpu_hours=total_gpu_hours(links),
            progress=progress[run.pk],
            params=tuple(run.params.get(name) for name in columns.params),
            values=tuple(value_of(of_run.get(name), columns.value) for name in columns.metrics),
        )
