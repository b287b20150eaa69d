"""The status of a run, from what its script reported and what Slurm reports of its job; pure.

What a script reports last is often wrong: a program that is killed reports nothing, one that fails outside of its
tracking client's block reports FINISHED (measured with MLflow's clients). So Slurm's word wins, for the runs that it is
about: those that did not end before their job did. Only that a job completed says nothing against a script that
reported its run as failed or killed: a job may hold many runs, and go on when one fails.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from jobs.records import ENDED_STATES


class Reported(StrEnum):
    """What a script may report: MLflow's words (`RunStatus`)."""

    RUNNING = "RUNNING"
    SCHEDULED = "SCHEDULED"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"


class Status(StrEnum):
    """What a run is, all sides considered."""

    RUNNING = "RUNNING"
    SCHEDULED = "SCHEDULED"
    FINISHED = "FINISHED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    LOST = "LOST"


OPEN_REPORTS = frozenset({Reported.RUNNING, Reported.SCHEDULED})
OPEN = frozenset({Status.RUNNING, Status.SCHEDULED, Status.LOST})
"""What may still change without a word from the script."""

OF_SLURM = {
    "COMPLETED": Status.FINISHED,
    **dict.fromkeys(("BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"), Status.FAILED),
    **dict.fromkeys(("CANCELLED", "DEADLINE", "PREEMPTED", "REQUEUED", "REVOKED", "TIMEOUT"), Status.KILLED),
}
"""The status that each final state of Slurm gives to what was running then (squeue(1), "JOB STATE CODES")."""

PENDING = "PENDING"

ENDED_WITH_JOB = timedelta(minutes=2)
"""A script that reports its end so shortly before its job ends, or later, reported it because the job was ending.

Longer than KillWait and UnkillableStepTimeout (30 s and 60 s, slurm.conf(5)), and than an epilog takes.
"""


@dataclass(frozen=True)
class JobWord:
    """What Slurm reports of the job of a run; `ended_at` None while it has not ended, or where that is not known."""

    state: str
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES


@dataclass(frozen=True)
class RunWord:
    """What the script of a run reported, and when it arrived: the run itself (`made_at`), its status, anything at
    all. `began_at` is its beginning as it was stated, or that of its first point."""

    reported: Reported
    began_at: datetime
    made_at: datetime
    reported_at: datetime
    heard_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True)
class Decided:
    """The status of a run, its end where it has one, and whether Slurm's word replaced that of the script."""

    status: Status
    ended_at: datetime | None
    is_by_slurm: bool = False


def decided(run: RunWord, job: JobWord | None, now: datetime, silent_after: timedelta) -> Decided:
    """The status of a run now: `silent_after` without a word makes it lost, unless Slurm reports that its job runs or,
    after a requeue, waits.

    >>> from datetime import UTC
    >>> at = datetime(2026, 11, 20, 12, tzinfo=UTC)
    >>> began_at = at - timedelta(hours=2)
    >>> killed = JobWord("TIMEOUT", began_at, at)
    >>> silent = RunWord(Reported.RUNNING, began_at, began_at, began_at, at)
    >>> decided(silent, killed, at, timedelta(hours=1)).status.value
    'KILLED'
    >>> ended_at = at - timedelta(hours=1)
    >>> earlier = RunWord(Reported.FINISHED, began_at, began_at, ended_at, ended_at, ended_at)
    >>> decided(earlier, killed, at, timedelta(hours=1)).status.value
    'FINISHED'
    """
    if job is not None and job.has_ended:
        if not _ended_before(run, job) and not _went_on(run, job):
            return _ended_by_slurm(run, job)
        job = None
    if run.reported not in OPEN_REPORTS:
        return Decided(Status(run.reported), max(run.ended_at or run.heard_at, run.began_at))
    is_silent = now - run.heard_at > silent_after
    if job is not None and not job.has_ended:
        # A queue that was read before the script's last word may still list its job as pending.
        waits = run.reported is Reported.SCHEDULED or (job.state == PENDING and is_silent)
        return Decided(Status.SCHEDULED if waits else Status.RUNNING, None)
    if is_silent:
        return Decided(Status.LOST, None)
    return Decided(Status(run.reported), None)


def _ended_before(run: RunWord, job: JobWord) -> bool:
    """Whether the script reported an end well before its job ended, so that the job's end says nothing about it."""
    if run.reported in OPEN_REPORTS or run.ended_at is None or job.ended_at is None:
        return False
    return run.ended_at < job.ended_at - ENDED_WITH_JOB


def _went_on(run: RunWord, job: JobWord) -> bool:
    """Whether the script reported that it runs after that job had ended: it resumed the run somewhere else."""
    if run.reported not in OPEN_REPORTS or job.ended_at is None:
        return False
    return run.made_at <= job.ended_at < run.reported_at - ENDED_WITH_JOB


def _ended_by_slurm(run: RunWord, job: JobWord) -> Decided:
    of_slurm = OF_SLURM[job.state]
    stands = of_slurm is Status.FINISHED and run.reported not in OPEN_REPORTS
    status = Status(run.reported) if stands else of_slurm
    return Decided(status, _end_with(run, job), is_by_slurm=run.reported != status.value)


def _end_with(run: RunWord, job: JobWord) -> datetime:
    """The end of a run whose job ended; that of a run that began afterwards is its own."""
    reported_at = run.ended_at if run.reported not in OPEN_REPORTS else None
    if job.ended_at is None or job.ended_at < run.began_at:
        return max(reported_at or run.heard_at, run.began_at)
    # A client that ends with its job reports the end a moment before Slurm does; that moment is the run's.
    return max(min(reported_at or job.ended_at, job.ended_at), run.began_at)
