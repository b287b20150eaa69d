"""The answers about experiments and runs, as structs from which the OpenAPI document is generated."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from django.urls import reverse
from msgspec import Meta

from jobs.experiments.models import Experiment, ExperimentRun, RunJob
from jobs.experiments.points import Digest, Series
from jobs.experiments.selectors import digests_of, jobs_of
from jobs.models import User
from jobs.selectors import reach_of
from portal.api.answers import RejectedRecord
from portal.charts.logged_runs import is_within, json_number
from reports.from_rows import struct_from

Special = Annotated[str, Meta(pattern=r"\A(NaN|-?Infinity)\Z")]
Number = float | Special
"""A value of a metric: what is no number of JSON is a text."""


class ExperimentAnswer(msgspec.Struct, frozen=True):
    """One experiment; `project` is whose PI sees it too, and with `is_shared` its members."""

    experiment_id: int
    name: str
    owner: str
    project: str | None
    is_shared: bool
    tags: dict[str, str]
    runs: int
    created_at: datetime
    changed_at: datetime
    url: str


class ExperimentPage(msgspec.Struct, frozen=True):
    """One page of experiments, the one that changed last first."""

    count: int
    next: str | None
    previous: str | None
    results: list[ExperimentAnswer]


class RunJobAnswer(msgspec.Struct, frozen=True):
    """A Slurm job that the script stated; `state` is null until there is a record of it as a job of the run's owner.

    `url` is empty for who does not see the job.
    """

    job_id: int
    cluster: str | None
    attempt: int | None
    state: str | None
    url: str


class MetricAnswer(msgspec.Struct, frozen=True):
    """What is exact of all points of a metric; `nan_since_step` is where it became NaN for good."""

    count: int
    last_step: int
    last_value: Number
    last_at: datetime
    least_value: Number | None
    least_step: int | None
    most_value: Number | None
    most_step: int | None
    nan_count: int
    nan_since_step: int | None


class RunAnswer(msgspec.Struct, frozen=True):
    """One run: `status` is what it is, `reported` what its script reported last; `status_by` says whose word decided.

    `LOST`: no word for a while, and none from Slurm. `config` are its parameters as text. `started_at` is as it was
    stated, or that of its first point if that is earlier.
    """

    run_id: str
    experiment_id: int
    name: str
    owner: str
    status: str
    reported: str
    status_by: str
    seed: str
    config: dict[str, str]
    tags: dict[str, str]
    parent_run_id: str | None
    jobs: list[RunJobAnswer]
    started_at: datetime
    ended_at: datetime | None
    heard_at: datetime
    metrics: dict[str, MetricAnswer]
    points_dropped: int
    points_thinned: int
    url: str


class RunPage(msgspec.Struct, frozen=True):
    """One page of the runs of an experiment."""

    count: int
    next: str | None
    previous: str | None
    results: list[RunAnswer]


class PointAnswer(msgspec.Struct, frozen=True):
    """One kept point."""

    step: int
    time: datetime
    value: Number


class SeriesAnswer(msgspec.Struct, frozen=True):
    """One metric with its kept points in the order of time; `is_thinned` says that more arrived."""

    name: str
    is_thinned: bool
    summary: MetricAnswer
    points: list[PointAnswer]


class PointsAnswer(msgspec.Struct, frozen=True):
    """What became of the points of one call; everything accepted is committed."""

    accepted: int
    rejected: list[RejectedRecord]


class ArtifactAnswer(msgspec.Struct, frozen=True):
    """A file of a run: its path as the script stated it; the portal never reads it."""

    path: str
    kind: str
    step: int | None
    size_bytes: int | None
    stated_at: datetime


class ArtifactsAnswer(msgspec.Struct, frozen=True):
    """How many files were stored."""

    accepted: int


class MadeRun(msgspec.Struct, frozen=True):
    """A run that was started."""

    run_id: str
    url: str


def moment(time_ms: int) -> datetime:
    """The time of a point."""
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def experiment_answer(experiment: Experiment, runs: int) -> ExperimentAnswer:
    return struct_from(
        ExperimentAnswer,
        experiment,
        experiment_id=experiment.pk,
        owner=experiment.owner.username,
        project=experiment.project.name if experiment.project else None,
        runs=runs,
        url=reverse("experiment", args=[experiment.pk]),
    )


def run_answers(runs: Sequence[ExperimentRun], user: User) -> list[RunAnswer]:
    """These runs with their metrics and jobs, as this person may see them: four queries for all."""
    digests, jobs, reach = digests_of(runs), jobs_of(runs), reach_of(user)

    def is_seen(row: RunJob) -> bool:
        job = row.linked_job
        return job is not None and is_within(job, reach)

    return [
        _run_answer(run, digests[run.pk], [_job_answer(row, is_seen=is_seen(row)) for row in jobs.get(run.pk, ())])
        for run in runs
    ]


def series_answer(name: str, series: Series) -> SeriesAnswer:
    points = series.points
    rows = zip(points.steps.tolist(), points.times_ms.tolist(), points.values.tolist(), strict=True)
    return SeriesAnswer(
        name=name,
        is_thinned=series.is_thinned,
        summary=_metric_answer(series.digest),
        points=[PointAnswer(step, moment(time_ms), json_number(value)) for step, time_ms, value in rows],
    )


def _run_answer(run: ExperimentRun, digests: dict[str, Digest], jobs: list[RunJobAnswer]) -> RunAnswer:
    return struct_from(
        RunAnswer,
        run,
        owner=run.owner.username,
        status_by="slurm" if run.is_by_slurm else "script",
        config=run.params,
        parent_run_id=run.parent.run_id if run.parent else None,
        jobs=jobs,
        metrics={name: _metric_answer(digest) for name, digest in sorted(digests.items())},
        url=reverse("run", args=[run.run_id]),
    )


def _job_answer(row: RunJob, *, is_seen: bool) -> RunJobAnswer:
    """Who sees the run sees the state of its job, as its status says the same; the job itself only within its reach."""
    job = row.linked_job
    return RunJobAnswer(
        job_id=row.job_id,
        cluster=(job.cluster if job else row.cluster) or None,
        attempt=job.attempt if job else None,
        state=job.state if job else None,
        url=reverse("job", args=[job.cluster, job.job_id]) if job and is_seen else "",
    )


def _metric_answer(digest: Digest) -> MetricAnswer:
    return struct_from(
        MetricAnswer,
        digest,
        last_value=json_number(digest.last_value),
        last_at=moment(digest.last_ms),
        least_value=None if digest.least_value is None else json_number(digest.least_value),
        most_value=None if digest.most_value is None else json_number(digest.most_value),
    )
