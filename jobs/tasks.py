"""People as background work: the configured directory, asked on a beat."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from jobs.directory_client import DirectoryError
from jobs.imports.services import import_from
from jobs.services import DirectoryShrunk

log = logging.getLogger(__name__)


@shared_task(
    acks_late=True, ignore_result=True, soft_time_limit=1800, autoretry_for=(OperationalError,), retry_backoff=True
)
def import_directory() -> None:
    """Store what DIRECTORY_SOURCE says; one that fails is asked again with the next beat."""
    try:
        _, change = import_from(settings.DIRECTORY_SOURCE, cluster=settings.DIRECTORY_CLUSTER, now=timezone.now())
        log.info("directory: %s", change)
    except (DirectoryError, DirectoryShrunk) as error:
        log.error("the directory changed nothing: %s", error)
