"""Runs that scripts logged as pages name them: their status and whose word it is, their times, and their jobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite, isinf, isnan

from analysis.models import JobEfficiency
from jobs.experiments.models import ExperimentRun, RunJob
from jobs.experiments.selectors import jobs_of
from jobs.experiments.status import Status
from jobs.models import Job
from jobs.selectors import Reach
from jobs.shown_text.joiners import shortened
from reports.services.links import job_url
from wire.safe_text import printable

NAME_SHOWN_MAX, ID_SHOWN = 80, 8
STATUS_WORDS = {
    Status.RUNNING: "running",
    Status.SCHEDULED: "scheduled",
    Status.FINISHED: "finished",
    Status.FAILED: "failed",
    Status.KILLED: "killed",
    Status.LOST: "lost contact",
}
BADGES = {
    Status.RUNNING: "pending",
    Status.SCHEDULED: "unknown",
    Status.FINISHED: "sent",
    Status.FAILED: "failed",
    Status.KILLED: "failed",
    Status.LOST: "unknown",
}
"""The look of each status, as that of a message in the outbox."""


@dataclass(frozen=True)
class RunStatus:
    """What a run is, in words: `by` is whose word decided, empty where nobody's did."""

    words: str
    badge: str
    by: str


@dataclass(frozen=True)
class ShownRun:
    """A run with its label, its status, and how long it took."""

    run: ExperimentRun
    label: str
    status: RunStatus
    seconds: float


@dataclass(frozen=True)
class JobLink:
    """A job that a script stated: `job` only for readers within whose reach it is, with its bill where it has one.

    `state` is Slurm's, empty while there is no record of such a job of the run's owner.
    """

    label: str
    state: str
    url: str
    job: Job | None
    gpu_hours: float | None


def run_label(run: ExperimentRun) -> str:
    """What a page calls a run: its name, else the beginning of its identifier."""
    return run.name or run.run_id[:ID_SHOWN]


def status_of(run: ExperimentRun) -> RunStatus:
    """The status of a run, and who reported it."""
    status = Status(run.status)
    if status is Status.LOST:
        return RunStatus(STATUS_WORDS[status], BADGES[status], "")
    return RunStatus(STATUS_WORDS[status], BADGES[status], "Slurm" if run.is_by_slurm else "the script")


def seconds_of(run: ExperimentRun, now: datetime) -> float:
    """How long a run took; of one that runs, so far, and of another that has not ended, until it was last heard."""
    end = now if run.ended_at is None and run.status == Status.RUNNING else until(run)
    return max((end - run.started_at).total_seconds(), 0.0)


def until(run: ExperimentRun) -> datetime:
    """The end of a run, else when it was last heard."""
    return run.ended_at or run.heard_at


def job_links(runs: Iterable[ExperimentRun], reach: Reach) -> dict[int, tuple[JobLink, ...]]:
    """The jobs of these runs by the runs' keys, the latest last: two queries for all."""
    stated = jobs_of(runs)
    seen = {
        row.linked_job.pk: row.linked_job
        for rows in stated.values()
        for row in rows
        if row.linked_job is not None and is_within(row.linked_job, reach)
    }
    billed = dict(JobEfficiency.objects.filter(job__in=seen).values_list("job_id", "gpu_hours"))
    return {pk: tuple(_link(row, seen, billed) for row in _each_once(rows)) for pk, rows in stated.items()}


def is_within(job: Job, reach: Reach) -> bool:
    """Whether a job is among those that a person sees."""
    return job.user_id == reach.user_id or job.project_id in reach.led


def total_gpu_hours(links: Sequence[JobLink]) -> float | None:
    """What the jobs were billed together; None unless every one is seen and has a bill."""
    known = [link.gpu_hours for link in links if link.gpu_hours is not None]
    return sum(known) if known and len(known) == len(links) else None


def metric_number(value: float | None) -> str:
    """A value of a metric in a table: five digits, and what is no number in words.

    >>> metric_number(0.123456), metric_number(float("nan")), metric_number(float("-inf")), metric_number(None)
    ('0.12346', 'NaN', '-Infinity', '–')
    >>> metric_number(120000.0), metric_number(1234567.0), metric_number(1e-7)
    ('120,000', '1.2346e+06', '1e-07')
    """
    if value is None:
        return "\N{EN DASH}"
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.5g}"


def rate_number(value: float | None) -> str:
    """A rate or a cost: three digits, as it varies more from run to run.

    >>> rate_number(0.919411), rate_number(209_482.0), rate_number(0.0696), rate_number(None), rate_number(2e-7)
    ('0.919', '209,000', '0.0696', '–', '2e-07')
    """
    if value is None:
        return "\N{EN DASH}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e12 else f"{rounded:.3g}"


def shown(text: str, length: int = NAME_SHOWN_MAX) -> str:
    """A name of others in one visible line of a bounded length.

    >>> shown("lo\u202ess"), shown("x" * 90, 5)
    ('lo�ss', 'xxxx…')
    """
    return shortened(printable(text), length)


def _each_once(rows: Sequence[RunJob]) -> Iterable[RunJob]:
    """A job that was stated twice, once."""
    return {(row.job_id, row.cluster, row.linked_job_id): row for row in rows}.values()


def _link(row: RunJob, seen: Mapping[int, Job], billed: Mapping[int, float | None]) -> JobLink:
    linked = row.linked_job
    job = seen.get(linked.pk) if linked else None
    cluster = linked.cluster if linked else row.cluster
    attempt = f", attempt {linked.attempt}" if linked and linked.attempt else ""
    return JobLink(
        label=(f"{cluster}/{row.job_id}" if cluster else f"{row.job_id}") + attempt,
        state=linked.state if linked else "",
        url=job_url(job) if job else "",
        job=job,
        gpu_hours=billed.get(job.pk) if job else None,
    )


def json_number(value: float) -> float | str:
    """A value as JSON has it: what is no number of JSON is a text.

    >>> json_number(0.5), json_number(float("nan")), json_number(float("-inf"))
    (0.5, 'NaN', '-Infinity')
    """
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
