"""What progress of logged runs cost: the time of each run within its jobs, its rates there, and their sums by GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.db.models import Q

from analysis.progress.names import (
    Unit,
    counted_unit,
    is_by_timer,
    is_of_evaluation,
    is_of_training,
    rate_unit,
    seen_unit,
)
from analysis.progress.rates import Rates, Stretch, rates_of
from jobs.experiments.models import ExperimentRun, MetricSeries, RunJob
from jobs.experiments.points import Series
from jobs.experiments.selectors import series_value
from jobs.models import Job
from portal.charts.logged_runs import JobLink, until

SERIES_READ = 6
"""Metrics of one run whose points are read for its rates: the best candidates for a counter of steps."""


@dataclass(frozen=True)
class Progress:
    """The rates of one run in the latest of its jobs that has any, or beside no job at all; None where it logged no
    steps.

    `is_shared`: other runs were in that job at the same time, so that its hours are not those of one run.
    """

    rates: Rates | None
    gpus: int | None
    is_shared: bool


@dataclass(frozen=True)
class BySize:
    """Runs on one number of GPUs: medians of their steps and samples per second; None where none has any."""

    gpus: int
    runs: int
    steps_per_s: float | None
    samples_per_s: float | None
    gpu_hours_per_1000: float | None

    @property
    def steps_per_gpu_s(self) -> float | None:
        return None if self.steps_per_s is None else self.steps_per_s / self.gpus


def progress_of_runs(runs: Sequence[ExperimentRun], links: Mapping[int, Sequence[JobLink]]) -> dict[int, Progress]:
    """The rates of these runs by their keys: three queries for all, and a bounded number of metrics of each."""
    series, shared = _series_of_runs(runs), runs_at_once(links)
    found = {}
    for run in runs:
        stretches = stretches_of(run, links.get(run.pk, ()), is_shared=run.pk in shared)
        rates = None
        for stretch in reversed(stretches or [_alone(run)]):
            rates = rates_of(series.get(run.pk, {}), run.params, stretch)
            if rates is not None:
                break
        gpus = stretches[-1].gpus if stretches else None
        found[run.pk] = Progress(rates, gpus, run.pk in shared)
    return found


def stretches_of(run: ExperimentRun, links: Sequence[JobLink], *, is_shared: bool) -> list[Stretch]:
    """The time of a run within each of its jobs that is seen, in their order."""
    found = []
    for link in links:
        job = link.job
        if job is None or job.started_at is None:
            continue
        start, end = max(run.started_at, job.started_at), min(until(run), job.ended_at or until(run))
        if end > start:
            price = None if is_shared else _price(job, link.gpu_hours)
            found.append(Stretch(_ms(start), _ms(end), job.gpus_allocated, price))
    return found


def runs_at_once(links: Mapping[int, Sequence[JobLink]]) -> set[int]:
    """The keys of those runs beside which another run was in the same job at the same time: one query."""
    jobs = {link.job.pk for of_run in links.values() for link in of_run if link.job is not None}
    rows = (
        RunJob.objects.filter(linked_job__in=jobs)
        .select_related("run")
        .only("linked_job", "run__started_at", "run__ended_at", "run__heard_at", "run__parent")
    )
    in_job: dict[int | None, list[ExperimentRun]] = {}
    for row in rows:
        in_job.setdefault(row.linked_job_id, []).append(row.run)
    found = set()
    for of_job in in_job.values():
        ordered = sorted({run.pk: run for run in of_job}.values(), key=lambda run: run.started_at)
        last: ExperimentRun | None = None
        for run in ordered:
            if last is not None and run.started_at < until(last):
                found |= {run.pk, last.pk}
            last = run if last is None or until(run) > until(last) else last
    return found


def by_size(progress: Iterable[Progress]) -> list[BySize]:
    """The throughput of runs by the number of GPUs of their jobs, the fewest first."""
    groups: dict[int, list[Rates]] = {}
    for one in progress:
        is_counted = one.rates is not None and one.rates.steps.unit is Unit.STEPS
        if one.rates is not None and is_counted and one.gpus and not one.is_shared:
            groups.setdefault(one.gpus, []).append(one.rates)
    return [
        BySize(
            gpus,
            len(rates),
            _median(one.steps.per_s for one in rates),
            _median(one.samples.per_s for one in rates if one.samples),
            _median(one.steps.gpu_hours_per_1000 for one in rates),
        )
        for gpus, rates in sorted(groups.items())
    ]


def telling_names(names: Iterable[str], most: int = SERIES_READ) -> list[str]:
    """The metrics that may show how far a run was, the best first.

    >>> telling_names(["eval/acc", "system/gpu", "loss", "tokens_seen", "global_step", "aux"], 4)
    ['global_step', 'tokens_seen', 'loss', 'aux']
    """

    def rank(name: str) -> tuple[int, str]:
        order = (
            counted_unit(name) is not None,
            seen_unit(name) is not None or rate_unit(name) is not None,
            is_of_training(name),
            not is_by_timer(name) and not is_of_evaluation(name),
            not is_by_timer(name),
        )
        return next((place for place, holds in enumerate(order) if holds), len(order)), name

    return sorted(names, key=rank)[:most]


def _series_of_runs(runs: Sequence[ExperimentRun]) -> dict[int, dict[str, Series]]:
    """The points of the telling metrics of these runs, as they are sorted: two queries."""
    names: dict[int, list[str]] = {}
    for pk, name in MetricSeries.objects.filter(run__in=[run.pk for run in runs]).values_list("run_id", "name"):
        names.setdefault(pk, []).append(name)
    wanted = Q(pk__in=())
    for pk, of_run in names.items():
        wanted |= Q(run=pk, name__in=telling_names(of_run))
    found: dict[int, dict[str, Series]] = {}
    for row in MetricSeries.objects.filter(wanted) if names else ():
        found.setdefault(row.run_id, {})[row.name] = series_value(row)
    return found


def _alone(run: ExperimentRun) -> Stretch:
    """The time of a run of which no job is seen."""
    return Stretch(_ms(run.started_at), _ms(until(run)))


def _price(job: Job, gpu_hours: float | None) -> float | None:
    """GPU-hours that an hour of this job is billed; None while its bill is not known."""
    if gpu_hours is None or not job.walltime_used_s:
        return None
    return gpu_hours / (job.walltime_used_s / 3600)


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
