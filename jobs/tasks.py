"""What is read regularly as background work: the configured directory of people, and the queues of clusters."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from jobs.directory_client import DirectoryError
from jobs.experiments.services.left_jobs import record_left_jobs
from jobs.failures.services import Work, attempt_each
from jobs.imports.services import import_from, without_secrets
from jobs.queue.services import read_queues
from jobs.services import DirectoryShrunk

SOFT_LIMIT_S = 1800
IMPORT, ONLY = "directory import", 1
"""The kind of work under which a failure is recorded, and its key: there is one directory."""

log = logging.getLogger(__name__)


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=SOFT_LIMIT_S)
def import_directory() -> None:
    """Store the data of DIRECTORY_SOURCE; a failed import is tried again later, and is never set aside."""
    lease = timedelta(seconds=2 * SOFT_LIMIT_S)
    work = Work(IMPORT, _import, lease=lease, is_recurring=True, name=directory_name)
    attempt_each(work, [[ONLY]], timezone.now())


def directory_name(_: int) -> str:
    """The configured directory, without the secrets of its address."""
    return without_secrets(settings.DIRECTORY_SOURCE, settings.DIRECTORY_SOURCE)


def _import(_: int) -> bool:
    try:
        _read, change = import_from(settings.DIRECTORY_SOURCE, cluster=settings.DIRECTORY_CLUSTER, now=timezone.now())
        log.info("directory: %s", change)
    except (DirectoryError, DirectoryShrunk) as error:
        # Its message may quote a row; the page of the directories shows it.
        log.error("the directory changed nothing: %s", type(error).__name__)
        return False
    return True


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=SOFT_LIMIT_S)
def read_queue() -> None:
    """Read the queues of QUEUE_CLUSTERS, and from accounting the jobs of logged runs that left them."""
    read_queues_and_left_jobs()


def read_queues_and_left_jobs() -> int:
    """The same for any worker; how many queues were read."""
    count = read_queues(settings.QUEUE_CLUSTERS, timezone.now())
    record_left_jobs(timezone.now())
    return count
