"""The runs of an experiment as rows for pages and other programs: what each was, what it cost, and its columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.experiments.models import Experiment
from jobs.experiments.points import Digest
from jobs.experiments.selectors import digests_of, metric_names
from jobs.selectors import Reach
from portal.charts.logged_runs import (
    JobLink,
    ShownRun,
    job_links,
    json_number,
    run_label,
    seconds_of,
    status_of,
    total_gpu_hours,
)
from portal.charts.progress import Progress, progress_of_runs

FIXED = (
    *("run_id", "name", "owner", "parent_run_id", "status", "status_by", "reported", "seed", "started_at", "ended_at"),
    *("seconds", "jobs", "gpu_hours", "gpus", "progress_unit", "progress_per_s", "gpu_hours_per_1000"),
)
"""The names of what every run has in every table for other programs, before its chosen or all columns."""

VALUES = ("last", "least", "most")
TOGETHER = 200


@dataclass(frozen=True)
class TableRun(ShownRun):
    """One run with all that a table shows of it; `digests` of the metrics that were asked for."""

    jobs: tuple[JobLink, ...]
    gpu_hours: float | None
    progress: Progress
    digests: dict[str, Digest]


def table_runs(
    experiment: Experiment, keys: Sequence[int], reach: Reach, now: datetime, metrics: Sequence[str] | None = None
) -> Iterator[TableRun]:
    """The runs of these keys in their order, with these metrics or all: a few queries for each `TOGETHER` of them."""
    at_once: dict[int, set[int]] = {}
    for first in range(0, len(keys), TOGETHER):
        part = keys[first : first + TOGETHER]
        by_key = experiment.runs.select_related("owner", "parent").defer("parent__params", "parent__tags").in_bulk(part)
        runs = [by_key[key] for key in part if key in by_key]
        digests, jobs = digests_of(runs, metrics), job_links(runs, reach)
        progress = progress_of_runs(runs, jobs, at_once)
        for run in runs:
            links = jobs.get(run.pk, ())
            yield TableRun(
                run=run,
                label=run_label(run),
                status=status_of(run),
                seconds=seconds_of(run, now),
                jobs=links,
                gpu_hours=total_gpu_hours(links),
                progress=progress[run.pk],
                digests=digests[run.pk],
            )


def fixed_values(row: TableRun) -> dict[str, object]:
    """The values of `FIXED` by name."""
    run, rates = row.run, row.progress.rates
    steps = rates.steps if rates else None
    values = (
        *(run.run_id, run.name, run.owner.username, run.parent.run_id if run.parent else None),
        *(run.status, row.status.by.removeprefix("the ").lower(), run.reported, run.seed),
        run.started_at.isoformat(),
        run.ended_at.isoformat() if run.ended_at else None,
        round(row.seconds, 3),
        [link.label for link in row.jobs],
        *(row.gpu_hours, row.progress.gpus),
        *((steps.unit.value, steps.per_s, steps.gpu_hours_per_1000) if steps else (None, None, None)),
    )
    return dict(zip(FIXED, values, strict=True))


def _csv_cells(fixed: dict[str, object]) -> list[object]:
    """These values as the cells of a CSV: several jobs in one, and what there is none of empty."""
    cells = [" ".join(value) if isinstance(value, list) else value for value in fixed.values()]
    return ["" if value is None else value for value in cells]


def all_columns(experiment: Experiment, keys: Sequence[int], reach: Reach, now: datetime) -> Iterator[list[object]]:
    """The names of the columns, then a row for each of these runs; what a run does not have is empty.

    The names come first, so all runs are looked through before: their parameters and tags, and the names of their
    metrics.
    """
    params, tags = _text_names(experiment, keys)
    runs = table_runs(experiment, keys, reach, now)
    yield from table_lines(runs, params, tags, sorted(metric_names(keys)))


def table_lines(
    runs: Iterable[TableRun],
    params: Sequence[str],
    tags: Sequence[str],
    metrics: Sequence[str],
    values: Sequence[str] = VALUES,
) -> Iterator[list[object]]:
    """The same with the columns of these parameters and tags, and these values of these metrics."""
    texts = [*(f"config.{name}" for name in params), *(f"tag.{name}" for name in tags)]
    yield [*FIXED, *texts, *(f"metric.{name}.{value}" for name in metrics for value in values)]
    for row in runs:
        yield [
            *_csv_cells(fixed_values(row)),
            *(row.run.params.get(name, "") for name in params),
            *(row.run.tags.get(name, "") for name in tags),
            *(_metric_cell(row.digests.get(name), value) for name in metrics for value in values),
        ]


def value_of(digest: Digest | None, value: str) -> float | None:
    """The last, least or greatest value of a metric; None where it has none."""
    found: float | None = getattr(digest, f"{value}_value") if digest else None
    return found


def _metric_cell(digest: Digest | None, value: str) -> object:
    found = value_of(digest, value)
    return "" if found is None else json_number(found)


def _text_names(experiment: Experiment, keys: Sequence[int]) -> tuple[list[str], list[str]]:
    """The names of all parameters, and of all tags, of these runs, by name."""
    wanted, params, tags = set(keys), set[str](), set[str]()
    for pk, of_run, tagged in experiment.runs.values_list("pk", "params", "tags").iterator(chunk_size=TOGETHER):
        if pk in wanted:
            params |= of_run.keys()
            tags |= tagged.keys()
    return sorted(params), sorted(tags)
