"""The jobs of the queue as a page shows them: a line each with cost, times and why it waits; and how old they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from analysis.queue_waits.ranges import WaitEstimate
from jobs.billing import Cost, cost_of
from jobs.hardware import partition_of
from jobs.models import QueuedJob, QueueReading
from jobs.queue.selectors import fresh_since, held_by, readings
from portal.charts.queue_reasons import is_in_turn, reason_text


@dataclass(frozen=True)
class Line:
    """One job, or the pending tasks of one array; `as_of` is when the queue was read, which all its times rest on.

    `wait` is how long jobs like it usually wait, where that is known.
    """

    job: QueuedJob
    as_of: datetime
    cost: Cost
    is_own: bool
    wait: WaitEstimate | None = None

    @property
    def is_running(self) -> bool:
        return self.job.state == QueuedJob.State.RUNNING

    @property
    def shown_number(self) -> str:
        """As squeue writes it: a task of an array has the array's number first."""
        job = self.job
        if job.array_job_id is None:
            return str(job.job_id)
        return f"{job.array_job_id}_{'[…]' if job.array_task_id is None else job.array_task_id}"

    @property
    def ran_s(self) -> float | None:
        return seconds_between(self.job.started_at, self.as_of)

    @property
    def ends_at(self) -> datetime | None:
        """When it ends at the latest; None without a limit."""
        job = self.job
        if job.started_at is None or job.time_limit_s is None:
            return None
        return job.started_at + timedelta(seconds=job.time_limit_s)

    @property
    def waited_s(self) -> float | None:
        """How long the queue has delayed it: since it could start, not since it was submitted."""
        return seconds_between(self.job.eligible_at, self.as_of)

    @property
    def reason(self) -> str:
        return reason_text(self.job.reason)

    @property
    def is_in_turn(self) -> bool:
        """Whether it waits for nothing but its turn, so that earlier waits say something about it."""
        return not self.is_running and is_in_turn(self.job.reason)


@dataclass
class Sum:
    """What some lines hold or request together; GPU-hours as in `Cost`, of those with a known price alone.

    `without_cost` are jobs whose partition has no price in GPU-hours or that set no limit, but for those without GPUs.
    """

    jobs: int = 0
    gpus: int = 0
    nodes: int = 0
    used: float = 0.0
    at_limit: float = 0.0
    without_cost: int = 0

    def add(self, line: Line) -> None:
        tasks = line.job.task_count
        self.jobs += tasks
        self.gpus += tasks * (line.job.gpus or 0)
        self.nodes += tasks * (line.job.node_count or 0)
        self.used += line.cost.used or 0.0
        self.at_limit += line.cost.at_limit or 0.0
        self.without_cost += 0 if line.cost.is_known or line.job.gpus == 0 else tasks


@dataclass(frozen=True)
class Sums:
    """The running jobs and the pending ones of one person or of a project."""

    running: Sum = field(default_factory=Sum)
    pending: Sum = field(default_factory=Sum)

    @property
    def jobs(self) -> int:
        return self.running.jobs + self.pending.jobs

    @property
    def at_limit(self) -> float:
        return self.running.at_limit + self.pending.at_limit

    @property
    def without_cost(self) -> int:
        return self.running.without_cost + self.pending.without_cost


def lines_of(jobs: Iterable[QueuedJob], read_at: Mapping[str, datetime], user_pk: int) -> list[Line]:
    """The jobs of queues that were read at these times, by cluster."""
    return [_line(job, read_at[job.cluster], user_pk) for job in jobs if job.cluster in read_at]


def sums_of(lines: Iterable[Line]) -> Sums:
    """What these hold and request together."""
    sums = Sums()
    for line in lines:
        (sums.running if line.is_running else sums.pending).add(line)
    return sums


def seconds_between(since: datetime | None, until: datetime) -> float | None:
    """Seconds from one moment to another, 0 where the clocks of Slurm and of the portal disagree; None if not known."""
    return None if since is None else max((until - since).total_seconds(), 0.0)


def _line(job: QueuedJob, as_of: datetime, user_pk: int) -> Line:
    ran_s = seconds_between(job.started_at, as_of)
    cost = cost_of(partition_of(job.cluster, job.partition), held_by(job), job.time_limit_s, ran_s, job.task_count)
    return Line(job, as_of, cost, job.user_id == user_pk)


@dataclass(frozen=True)
class Reading:
    """A stored reading of one queue, with its age in seconds; `is_old` where what it lists may no longer hold."""

    row: QueueReading
    age_s: float | None
    is_old: bool


def queue_readings(now: datetime) -> list[Reading]:
    """The readings of all clusters, by name: one query."""
    return [_reading(row, now) for row in readings()]


def _reading(row: QueueReading, now: datetime) -> Reading:
    return Reading(row, seconds_between(row.read_at, now), row.read_at is None or row.read_at < fresh_since(now))
