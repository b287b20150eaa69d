"""What progress of logged runs cost: the time of each run within its jobs, its rates there, and their sums by GPUs."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from analysis.comparable import known_median
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


def progress_of_runs(
    runs: Sequence[ExperimentRun],
    links: Mapping[int, Sequence[JobLink]],
    known: dict[int, set[int]] | None = None,
) -> dict[int, Progress]:
    """The rates of these runs by their keys: three queries for all, and a bounded number of metrics of each.

    `known` is that of `runs_at_once`.
    """
    series, shared = _series_of_runs(runs), runs_at_once(links, known)
    found = {}
    for run in runs:
        stretches = stretches_of(run, links.get(run.pk, ()), is_shared=run.pk in shared)
        rates = None
        for stretch in reversed(stretches or [whole_time(run)]):
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


def runs_at_once(links: Mapping[int, Sequence[JobLink]], known: dict[int, set[int]] | None = None) -> set[int]:
    """The keys of those runs beside which another run was in the same job at the same time: one query.

    A run and those within it are one work: what runs beside a run is neither within it nor what it is within. `known`
    keeps such runs by the key of their job, for who asks for many runs of one job part by part.
    """
    known = {} if known is None else known
    jobs = {link.job.pk for of_run in links.values() for link in of_run if link.job is not None}
    new = jobs - known.keys()
    rows = RunJob.objects.filter(linked_job__in=new).values_list(
        *("linked_job", "run", "run__parent", "run__started_at", "run__ended_at", "run__heard_at")
    )
    in_job: dict[int, dict[int, _Span]] = {pk: {} for pk in new}
    for job, pk, parent, start, ended, heard in rows if new else ():
        # A run of no length is there for a moment.
        end = max(ended or heard, start + timedelta.resolution)
        in_job[job][pk] = _Span(parent, start, end)
    known |= {job: _beside_others(of_job) for job, of_job in in_job.items()}
    return set[int]().union(*(known[job] for job in jobs))


class _Span(NamedTuple):
    """The time of a run, and the run that it is within."""

    parent: int | None
    start: datetime
    end: datetime


def _beside_others(spans: Mapping[int, _Span]) -> set[int]:
    """Those of the runs of one job that others overlap, apart from those that they are within or that are in them."""
    starts, ends = sorted(span.start for span in spans.values()), sorted(span.end for span in spans.values())
    others = {pk: bisect_left(starts, span.end) - bisect_right(ends, span.start) - 1 for pk, span in spans.items()}
    for pk, span in spans.items():
        for outer in _outer(pk, spans):
            if spans[outer].start < span.end and span.start < spans[outer].end:
                others[pk] -= 1
                others[outer] -= 1
    return {pk for pk, count in others.items() if count}


def _outer(pk: int, spans: Mapping[int, _Span]) -> list[int]:
    """The runs of the same job that a run is within."""
    found: list[int] = []
    parent = spans[pk].parent
    while parent is not None and parent in spans and parent != pk and parent not in found:
        found.append(parent)
        parent = spans[parent].parent
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
            known_median(one.steps.per_s for one in rates),
            known_median(one.samples.per_s for one in rates if one.samples),
            known_median(one.steps.gpu_hours_per_1000 for one in rates),
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
    keys: dict[int, dict[str, int]] = {}
    named = MetricSeries.objects.filter(run__in=[run.pk for run in runs]).values_list("pk", "run_id", "name")
    for pk, run_pk, name in named:
        keys.setdefault(run_pk, {})[name] = pk
    # Runs of one experiment mostly have the same metrics.
    telling = {names: telling_names(names) for names in {tuple(of_run) for of_run in keys.values()}}
    wanted = [of_run[name] for of_run in keys.values() for name in telling[tuple(of_run)]]
    found: dict[int, dict[str, Series]] = {}
    for row in MetricSeries.objects.filter(pk__in=wanted) if wanted else ():
        found.setdefault(row.run_id, {})[row.name] = series_value(row)
    return found


def whole_time(run: ExperimentRun) -> Stretch:
    """The time of a run of which no job is seen."""
    return Stretch(_ms(run.started_at), _ms(until(run)))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _price(job: Job, gpu_hours: float | None) -> float | None:
    """GPU-hours that an hour of this job is billed; None while its bill is not known."""
    if gpu_hours is None or not job.walltime_used_s:
        return None
    return gpu_hours / (job.walltime_used_s / 3600)
