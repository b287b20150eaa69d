"""Storing the queues of clusters: each reading replaces the rows of its cluster, by what differs."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobs.expiry.services import remove_rows
from jobs.models import QueuedJob, QueueReading
from jobs.queue.models import ERROR_LENGTH_MAX
from jobs.queue.squeue import ListedJob, Queue, QueueFormatError, queue_of
from jobs.services import people_and_projects
from jobs.slurm_client import QUEUE_TIMEOUT_S, SlurmClientError, queue
from jobs.work_queue.services import Work, attempt_each

READING = "reading of a queue"
"""The kind of work under which a failure is recorded; its key is the reading's row."""

LEASE = timedelta(seconds=4 * QUEUE_TIMEOUT_S)
TOGETHER = 1000
"""Rows of one statement."""

AS_LISTED = tuple(
    "is_suspended array_job_id array_task_id task_count job_name partition qos reason node_count gpus cores memory_gb"
    " is_exclusive time_limit_s submitted_at eligible_at started_at".split()
)
COLUMNS = ("user_id", "project_id", "state", *AS_LISTED)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueueChange:
    """What a reading changed, in numbers of rows; `listed` are there now."""

    listed: int
    new: int
    changed: int
    gone: int
    left_out: int

    def __str__(self) -> str:
        rows = f"{self.listed} jobs: {self.new} new, {self.changed} changed, {self.gone} gone"
        return f"{rows}; {self.left_out} rows left out"


def read_queues(clusters: Iterable[str], now: datetime) -> int:
    """Read the queues of these clusters, each by one worker; how many were read. A failure keeps the rows."""
    keys = [QueueReading.objects.get_or_create(cluster=name, defaults={"tried_at": now})[0].pk for name in clusters]
    work = Work(READING, partial(_read_again, now=now), lease=LEASE, is_recurring=True, name=reading_name)
    return attempt_each(work, [keys], now).done


def read_queue(cluster: str) -> tuple[QueueChange, Queue]:
    """Ask squeue for the queue of a cluster and store it. Raises SlurmClientError or QueueFormatError, once stored."""
    asked_at = timezone.now()
    try:
        output = queue(cluster)
        found = queue_of(output.text, cluster=cluster, mark=output.delimiter)
    except (SlurmClientError, QueueFormatError) as error:
        note_failure(cluster, str(error), asked_at)
        raise
    return store_queue(cluster, found, asked_at), found


def store_queue(cluster: str, found: Queue, asked_at: datetime) -> QueueChange:
    """Make the rows of a cluster equal to its queue as listed at `asked_at`; an older listing changes nothing."""
    with transaction.atomic():
        reading = _locked(cluster, asked_at)
        if reading.read_at is not None and reading.read_at >= asked_at:
            return QueueChange(len(found.jobs), 0, 0, 0, len(found.left_out))
        change = _replace_rows(cluster, found)
        reading.read_at = reading.tried_at = asked_at
        reading.error, reading.left_out = "", len(found.left_out)
        reading.save()
    return change


def note_failure(cluster: str, error: str, tried_at: datetime) -> None:
    """Store why the queue of a cluster could not be read; its rows stay as they are, and get old."""
    with transaction.atomic():
        reading = _locked(cluster, tried_at)
        if reading.read_at is None or reading.read_at < tried_at:
            reading.tried_at, reading.error = tried_at, error[:ERROR_LENGTH_MAX]
            reading.save(update_fields=["tried_at", "error"])


def remove_old_queues(before: datetime) -> Iterator[int]:
    """Delete the rows of queues that were read before then last, and what is known of the readings; yields numbers."""
    kept = QueueReading.objects.filter(read_at__gte=before).values("cluster")
    yield from remove_rows(QueuedJob.objects.exclude(cluster__in=kept))
    yield from (0 for _ in remove_rows(QueueReading.objects.filter(tried_at__lt=before)))


def reading_name(reading_pk: int) -> str:
    """The cluster of a reading, for the log."""
    return QueueReading.objects.get(pk=reading_pk).cluster


def _read_again(reading_pk: int, *, now: datetime) -> bool:
    """One reading as background work; whether it succeeded."""
    cluster = reading_name(reading_pk)
    try:
        change, _ = read_queue(cluster)
    except (SlurmClientError, QueueFormatError) as error:
        # Its message may quote a row; the page of administrators shows it.
        log.error("the queue of %s was not read: %s", cluster, type(error).__name__)
        return False
    log.info("the queue of %s: %s", cluster, change)
    return True


def _locked(cluster: str, now: datetime) -> QueueReading:
    """The reading of a cluster; a second one waits here for the first."""
    return QueueReading.objects.select_for_update().get_or_create(cluster=cluster, defaults={"tried_at": now})[0]


def _replace_rows(cluster: str, found: Queue) -> QueueChange:
    known = {
        job_id: tuple(columns)
        for job_id, *columns in QueuedJob.objects.filter(cluster=cluster).values_list("job_id", *COLUMNS)
    }
    listed = _columns_of(found.jobs)
    gone = sorted(known.keys() - listed.keys())
    differing = [job_id for job_id, columns in listed.items() if known.get(job_id) != columns]
    for first in range(0, len(gone), TOGETHER):
        QueuedJob.objects.filter(cluster=cluster, job_id__in=gone[first : first + TOGETHER]).delete()
    QueuedJob.objects.bulk_create(
        (
            QueuedJob(cluster=cluster, job_id=job_id, **dict(zip(COLUMNS, listed[job_id], strict=True)))
            for job_id in differing
        ),
        batch_size=TOGETHER,
        update_conflicts=True,
        unique_fields=["cluster", "job_id"],
        update_fields=COLUMNS,
    )
    new = len(listed.keys() - known.keys())
    return QueueChange(len(listed), new, len(differing) - new, len(gone), len(found.left_out))


def _columns_of(jobs: Sequence[ListedJob]) -> dict[int, tuple[Any, ...]]:
    """The columns of each job by its number, with the accounts that it belongs to."""
    users, projects = people_and_projects({job.user_id for job in jobs}, {job.project_id for job in jobs})
    return {
        job.job_id: (
            users[job.user_id].pk,
            projects[job.project_id].pk,
            (QueuedJob.State.RUNNING if job.is_running else QueuedJob.State.PENDING).value,
            *(getattr(job, name) for name in AS_LISTED),
        )
        for job in jobs
    }
