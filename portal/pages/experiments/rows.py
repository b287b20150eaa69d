"""The rows of the table of runs: one page of them, or all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Paginator

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.selectors import Reach
from portal.charts.logged_runs import metric_number, shown
from portal.charts.run_table import TableRun, table_runs, value_of
from portal.pages.experiments.choices import RunChoices
from portal.pages.experiments.query import Offered, chosen_runs, ordered_keys

PAGE_SIZE = 25
TEXT_SHOWN_MAX = 40


@dataclass(frozen=True)
class TableColumns:
    """The chosen columns: names of parameters, of tags and of metrics, which value of these is shown, and whether the
    seed is."""

    params: tuple[str, ...]
    tags: tuple[str, ...]
    metrics: tuple[str, ...]
    value: str
    has_seed: bool


@dataclass(frozen=True)
class RunRow:
    """One run with the chosen columns."""

    shown: TableRun
    columns: TableColumns

    @property
    def run(self) -> ExperimentRun:
        return self.shown.run

    @property
    def label(self) -> str:
        return self.shown.label

    @property
    def params(self) -> tuple[str | None, ...]:
        """The values of the chosen parameters; None where it has none of that name."""
        return tuple(self.run.params.get(name) for name in self.columns.params)

    @property
    def tags(self) -> tuple[str | None, ...]:
        return tuple(self.run.tags.get(name) for name in self.columns.tags)

    @property
    def values(self) -> tuple[float | None, ...]:
        return tuple(value_of(self.shown.digests.get(name), self.columns.value) for name in self.columns.metrics)

    @property
    def cells(self) -> list[str]:
        """The values of the seed, parameters, tags and metrics as the page shows them."""
        seed = (self.run.seed or None,) if self.columns.has_seed else ()
        texts = [
            "\N{EN DASH}" if text is None else shown(text, TEXT_SHOWN_MAX) for text in (*seed, *self.params, *self.tags)
        ]
        return texts + [metric_number(value) for value in self.values]


@dataclass(frozen=True)
class RunPage:
    """One page of the table; `count` is the number of all runs that are asked for."""

    rows: tuple[RunRow, ...]
    number: int
    pages: int
    count: int


def columns_of(offered: Offered, choices: RunChoices) -> TableColumns:
    """The columns that are shown."""
    return TableColumns(
        params=offered.shown_params(choices),
        tags=choices.tags or (),
        metrics=offered.shown_metrics(choices),
        value=choices.value,
        has_seed=offered.has_seeds if choices.has_seed is None else choices.has_seed,
    )


def run_page(
    experiment: Experiment, choices: RunChoices, columns: TableColumns, reach: Reach, now: datetime
) -> RunPage:
    """The asked page of the runs that are asked for, the last one where it is beyond."""
    keys = ordered_keys(chosen_runs(experiment, choices), choices, now)
    page = Paginator(keys, PAGE_SIZE).get_page(choices.page)
    rows = _rows(experiment, list(page.object_list), columns, reach, now)
    return RunPage(tuple(rows), page.number, page.paginator.num_pages, len(keys))


def all_rows(
    experiment: Experiment, choices: RunChoices, columns: TableColumns, reach: Reach, now: datetime
) -> Iterator[RunRow]:
    """Every run that is asked for, read some at a time."""
    keys = ordered_keys(chosen_runs(experiment, choices), choices, now)
    return _rows(experiment, keys, columns, reach, now)


def _rows(
    experiment: Experiment, keys: Sequence[int], columns: TableColumns, reach: Reach, now: datetime
) -> Iterator[RunRow]:
    return (RunRow(row, columns) for row in table_runs(experiment, keys, reach, now, columns.metrics))
