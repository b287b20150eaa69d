"""The runs of an experiment as a table: a column for each parameter and for the last value of each metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from jobs.experiments.models import ExperimentRun, MetricSeries
from jobs.experiments.points import Digest
from jobs.experiments.selectors import digests_of, jobs_of

FIXED = (
    *("run_id", "name", "owner", "status", "reported", "slurm_job_ids", "seed", "started_at", "ended_at"),
    "parent_run_id",
)
TOGETHER = 200


def run_table(runs: QuerySet[ExperimentRun]) -> Iterator[Sequence[object]]:
    """The names of the columns, then a row for each run in its order; what a run does not have is empty.

    The names come first, so all runs are looked through before: their parameters, and the names of their metrics.
    """
    params, metrics = param_names(runs), metric_names(runs)
    yield [*FIXED, *(f"config.{name}" for name in params), *(f"metric.{name}" for name in metrics)]
    for part in _parts(list(runs.values_list("pk", flat=True))):
        by_pk = {run.pk: run for run in runs.filter(pk__in=part)}
        rows = [by_pk[pk] for pk in part if pk in by_pk]
        digests, jobs = digests_of(rows), jobs_of(rows)
        for run in rows:
            job_ids = dict.fromkeys(str(row.job_id) for row in jobs.get(run.pk, ()))
            yield _row(run, " ".join(job_ids), params, metrics, digests[run.pk])


def param_names(runs: QuerySet[ExperimentRun]) -> list[str]:
    """The names of all parameters of these runs, by name."""
    names: dict[str, None] = {}
    for params in runs.order_by().values_list("params", flat=True).iterator(chunk_size=TOGETHER):
        names |= dict.fromkeys(params)
    return sorted(names)


def metric_names(runs: QuerySet[ExperimentRun]) -> list[str]:
    """The names of all metrics of these runs, by name."""
    rows = MetricSeries.objects.filter(run__in=runs.order_by().values("pk")).order_by("name")
    return list(rows.values_list("name", flat=True).distinct())


def _parts(pks: list[int]) -> Iterator[list[int]]:
    return (pks[first : first + TOGETHER] for first in range(0, len(pks), TOGETHER))


def _row(
    run: ExperimentRun, job_ids: str, params: Sequence[str], metrics: Sequence[str], digests: dict[str, Digest]
) -> list[object]:
    fixed = [
        *(run.run_id, run.name, run.owner.username, run.status, run.reported, job_ids, run.seed),
        run.started_at.isoformat(),
        run.ended_at.isoformat() if run.ended_at else "",
        run.parent.run_id if run.parent else "",
    ]
    values = [digests[name].last_value if name in digests else "" for name in metrics]
    return [*fixed, *(run.params.get(name, "") for name in params), *values]
