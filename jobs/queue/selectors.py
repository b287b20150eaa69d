"""Reading the queue as it was read last: whose jobs a person sees, how old that is, and the states of single jobs."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from jobs.billing import Allocation
from jobs.models import QueuedJob, QueueReading
from jobs.selectors import Reach, jobs_within

OLD_AFTER, READINGS_MISSED = timedelta(minutes=10), 3
"""A queue that was not read for so long, and for so many intervals, is shown as old and decides nothing."""

Key = tuple[int, str, int]
"""Owner, cluster and number of a job; an empty cluster is any."""


def fresh_since(now: datetime) -> datetime:
    """When a queue must have been read at least for what it lists to count."""
    return now - max(OLD_AFTER, READINGS_MISSED * timedelta(seconds=settings.QUEUE_SECONDS))


def readings() -> QuerySet[QueueReading]:
    """The readings of all clusters whose queue was ever read or tried, by name."""
    return QueueReading.objects.order_by("cluster")


def fresh_readings(now: datetime) -> dict[str, datetime]:
    """When each queue was read last, by cluster; of those that count."""
    fresh = readings().filter(read_at__gte=fresh_since(now)).values_list("cluster", "read_at")
    return {cluster: read_at for cluster, read_at in fresh if read_at is not None}


def visible_queue(reach: Reach) -> QuerySet[QueuedJob]:
    """The jobs in the queue that a person sees: their own, and those of projects they lead.

    Three queries: many jobs are of few people and projects.
    """
    return QueuedJob.objects.filter(reach.all).prefetch_related("user", "project")


def running_gpu_jobs(reach: Reach) -> QuerySet[QueuedJob]:
    """Those of them that run on GPUs, the latest start first."""
    running = visible_queue(reach).filter(state=QueuedJob.State.RUNNING, gpus__gt=0, started_at__isnull=False)
    return running.order_by("-started_at", "-pk")


def ended_meanwhile(reach: Reach, listed: Collection[QueuedJob]) -> set[int]:
    """The keys of those listed jobs that a record of Slurm has seen end since they started: one query.

    A queue is minutes old; and the record of an earlier attempt ended before this one started.
    """
    clusters, numbers = {job.cluster for job in listed}, {job.job_id for job in listed}
    records = jobs_within(reach).filter(cluster__in=clusters, job_id__in=numbers, ended_at__isnull=False)
    rows = records.order_by("ended_at").values_list("cluster", "job_id", "ended_at")
    ended = {(cluster, job_id): at for cluster, job_id, at in rows}
    return {
        job.pk
        for job in listed
        if job.started_at and (at := ended.get((job.cluster, job.job_id))) and at > job.started_at
    }


def listed_in(clusters: Collection[str]) -> QuerySet[QueuedJob]:
    """The jobs in the queues of these clusters, whosever they are: for the following of runs, not for pages."""
    return QueuedJob.objects.filter(cluster__in=clusters)


def held_by(job: QueuedJob) -> Allocation:
    """What a job of the queue holds or requests, as it is billed; 0 where squeue states nothing."""
    return Allocation(
        nodes=job.node_count or 0,
        gpus=job.gpus or 0,
        cores=job.cores or 0,
        memory_gb=job.memory_gb or 0.0,
        is_exclusive=bool(job.is_exclusive),
    )


def states_in_queue(keys: Iterable[Key], now: datetime) -> dict[Key, str]:
    """The states of these jobs that are in a queue, of their owners alone, as far as it was read lately: two queries.

    Left out is what is not in the queue, or whose queue is not read.
    """
    wanted = set(keys)
    rows = listed_in(fresh_readings(now)).filter(job_id__in={job_id for _, _, job_id in wanted})
    found: dict[Key, str] = {}
    for user_pk, cluster, job_id, state in rows.order_by("pk").values_list("user_id", "cluster", "job_id", "state"):
        for key in ((user_pk, cluster, job_id), (user_pk, "", job_id)):
            if key in wanted:
                found.setdefault(key, state)
    return found
