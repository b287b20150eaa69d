"""Reading jobs that still run: which are due for a look, what is known of one, and whose running jobs a person sees."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from analysis.comparable import ComparableRun
from analysis.early.facts import EarlyFacts, MemoryCourse, NodeStretch, early_facts
from analysis.early.models import EarlyWord, RunningRun
from analysis.early.thresholds import EARLY_RULES_VERSION
from analysis.early.won import PastWord
from analysis.progress.logged import LoggedRun
from analysis.selectors import comparable_runs
from jobs.billing import cost_of
from jobs.experiments.selectors import logged_while_running
from jobs.hardware import partition_of
from jobs.models import Job, QueuedJob
from jobs.queue.selectors import fresh_readings, held_by, listed_in
from jobs.records import JobRecord
from jobs.runs.services import key_of_work
from jobs.selectors import Reach
from metrics.running.selectors import RunningNodes, RunningState, running_keys, running_nodes
from metrics.selectors import run_metrics

WORD = "early word"
"""The kind of work under which a failed look at a running job is recorded; its key is the row of the run."""

SUSPENDED = "SUSPENDED"
"""Nothing is stated about a job that was made to stand still."""

TOGETHER = 500
"""So many jobs are looked up in one query."""

HOUR_S = 3600.0


class Measured(NamedTuple):
    """A running job of the queue and the state of its measurements."""

    job: QueuedJob
    started_at: datetime
    attempt: int
    state: RunningState


def measured_jobs(now: datetime) -> Iterator[list[Measured]]:
    """The running GPU jobs of queues that were read lately of which something was measured, page by page.

    Of several attempts the last one counts; none where it has not been measured since the job started again.
    """
    for cluster in sorted(fresh_readings(now)):
        running = listed_in([cluster]).filter(state=QueuedJob.State.RUNNING, gpus__gt=0, started_at__isnull=False)
        jobs = {job.job_id: job for job in running.order_by("job_id")}
        keys = list(jobs)
        for first in range(0, len(keys), TOGETHER):
            states = running_keys(cluster, keys[first : first + TOGETHER])
            yield [
                Measured(jobs[job_id], began_at, attempt, state)
                for job_id, attempt, state in _last_attempts(states)
                if (began_at := jobs[job_id].started_at) is not None and not _is_before(state, began_at)
            ]


def _is_before(state: RunningState, started_at: datetime) -> bool:
    """Whether all that was measured is from before this start: of an attempt before a requeue."""
    return state.measured_until is not None and state.measured_until <= started_at


def _last_attempts(states: dict[tuple[str, int, int], RunningState]) -> Iterator[tuple[int, int, RunningState]]:
    # In the order of the attempts, a later one takes the place of an earlier one.
    last = {job_id: (job_id, attempt, state) for (_, job_id, attempt), state in sorted(states.items())}
    yield from last.values()


def due_runs() -> Iterator[list[int]]:
    """The keys of the running jobs with newer measurements than were looked at, or that other rules looked at."""
    is_newer = ~Q(new_revision=F("revision")) | ~Q(rules_version=EARLY_RULES_VERSION)
    yield list(RunningRun.objects.filter(is_newer, left_at=None).order_by("pk").values_list("pk", flat=True))


def still_due(keys: Sequence[int]) -> list[int]:
    """Which of these runs, in their order, are still due."""
    due = {key for page in due_runs() for key in page}
    return [key for key in keys if key in due]


def queued_job(run: RunningRun) -> QueuedJob | None:
    """The job in the queue; None once it is no longer listed as running."""
    listed = listed_in([run.cluster]).filter(job_id=run.job_id, state=QueuedJob.State.RUNNING)
    return listed.select_related("user", "project").first()


def facts_of(run: RunningRun, job: QueuedJob, now: datetime) -> EarlyFacts:
    """What is known of a running job now."""
    key = (run.cluster, run.job_id, run.attempt)
    metrics, nodes = run_metrics(key), running_nodes(key)
    until = max(filter(None, nodes.measured_until), default=now)
    return early_facts(
        _record(run, job, metrics.nodes, max((until - run.started_at).total_seconds(), 0.0)),
        metrics,
        _stretches(nodes, run.started_at),
        ran_s=max((now - run.started_at).total_seconds(), 0.0),
        time_limit_s=job.time_limit_s,
        earlier=_earlier_runs(job, now),
        logged=[
            LoggedRun(params, series) for params, series in logged_while_running(job.user_id, run.cluster, run.job_id)
        ],
        held=_held_words(key),
    )


def _held_words(key: tuple[str, int, int]) -> set[str]:
    """The codes of the words about a run that the last look confirmed."""
    cluster, job_id, attempt = key
    words = EarlyWord.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt, over_at=None)
    return set(words.values_list("code", flat=True))


def hourly_price(job: QueuedJob) -> float | None:
    """The GPU-hours that an hour of this job is billed; None where its partition has no price in them."""
    return cost_of(partition_of(job.cluster, job.partition), held_by(job), HOUR_S, None).at_limit


def visible_running(reach: Reach) -> QuerySet[RunningRun]:
    """The measured running jobs that a person sees: their own, and those of projects they lead."""
    return RunningRun.objects.filter(reach.all, left_at=None)


def visible_left(reach: Reach, cluster: str, job_id: int) -> RunningRun | None:
    """The last measured run of this number, if this person sees it and it no longer runs, as far as is known; None once
    a record of Slurm has seen it end, and while the queue lists the job in any state."""
    runs = RunningRun.objects.filter(reach.all, cluster=cluster, job_id=job_id).exclude(Exists(_record_of_end()))
    run = runs.order_by("attempt").last()
    return None if run is None or listed_in([cluster]).filter(job_id=job_id).exists() else run


def forgettable_runs(before: datetime) -> QuerySet[RunningRun]:
    """The runs that left the queue and have a record of their end, or left before then."""
    return RunningRun.objects.filter(Exists(_record_of_end()) | Q(left_at__lt=before), left_at__isnull=False)


def _record_of_end() -> QuerySet[Job]:
    """The records of Slurm that have seen a run end; those of attempts before it ended before it started."""
    of_run = {name: OuterRef(name) for name in ("cluster", "job_id")}
    return Job.objects.filter(**of_run, ended_at__gt=OuterRef("started_at"))


def visible_words(reach: Reach) -> QuerySet[EarlyWord]:
    """The early words that a person may read, of running and ended jobs."""
    return EarlyWord.objects.filter(reach.all)


def past_words(job: Job) -> tuple[PastWord, ...]:
    """The early words about a run that has ended, the first found first: one query."""
    start = job.started_at
    if start is None:
        return ()
    of_run = EarlyWord.objects.filter(cluster=job.cluster, job_id=job.job_id, attempt=job.attempt, user=job.user_id)
    return tuple(
        PastWord(
            word.code,
            max((word.found_at - start).total_seconds(), 0.0),
            None if word.over_at is None else max((word.over_at - start).total_seconds(), 0.0),
        )
        for word in of_run.order_by("found_at", "pk")
    )


def _record(run: RunningRun, job: QueuedJob, nodes: tuple[str, ...], measured_s: float) -> JobRecord:
    """The running job as a record that ends with its last sample."""
    return JobRecord(
        cluster=run.cluster,
        job_id=run.job_id,
        attempt=run.attempt,
        user_id=job.user.username,
        project_id=job.project.name,
        state=SUSPENDED if job.is_suspended else QueuedJob.State.RUNNING.value,
        job_name=job.job_name,
        partition=job.partition,
        qos=job.qos,
        nodes=nodes,
        node_count=job.node_count,
        is_exclusive=job.is_exclusive,
        gpus_requested=job.gpus,
        gpus_allocated=job.gpus,
        cpus_allocated=job.cores,
        memory_requested_gb=job.memory_gb,
        walltime_requested_s=job.time_limit_s,
        walltime_used_s=measured_s,
        submitted_at=job.submitted_at,
        started_at=run.started_at,
    )


def _stretches(nodes: RunningNodes, started_at: datetime) -> dict[str, NodeStretch]:
    """What each node sent of its last stretch, in seconds of the job's clock."""
    found = {}
    for place, name in enumerate(nodes.nodes):
        until, began = nodes.measured_until[place], nodes.started_at[place] or started_at
        if until is None:
            continue
        late_s = max((began - started_at).total_seconds(), 0.0)
        at_s, gb = nodes.memory[place]
        found[name] = NodeStretch(
            until_s=(until - started_at).total_seconds(),
            span_s=float(nodes.recent_s[place]),
            busy_cores=float(nodes.busy_cores[place]),
            power_w={gpu_id: watts for (node, gpu_id), watts in nodes.power_w.items() if node == name},
            memory=MemoryCourse(at_s + late_s, gb),
        )
    return found


def _earlier_runs(job: QueuedJob, now: datetime) -> tuple[ComparableRun, ...]:
    """The last ended runs of the same work."""
    key = key_of_work(job.cluster, job.user, job.project, job.job_name, "")
    return comparable_runs(Job(cluster=job.cluster, user=job.user, job_name=job.job_name, work_key=key, ended_at=now))
