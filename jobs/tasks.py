"""People as background work: the configured directory, asked on a beat."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from jobs.directory_client import DirectoryError, read_source
from jobs.services import DirectoryShrunk, record_directory

log = logging.getLogger(__name__)


@shared_task(
    acks_late=True, ignore_result=True, soft_time_limit=1800, autoretry_for=(OperationalError,), retry_backoff=True
)
def import_directory() -> None:
    """Store what DIRECTORY_SOURCE says; one that fails is asked again with the next beat."""
    access = {"token": settings.WALDUR_TOKEN, "offering": settings.WALDUR_OFFERING}
    try:
        directory = read_source(
            settings.DIRECTORY_SOURCE, cluster=settings.DIRECTORY_CLUSTER, now=timezone.now(), **access
        )
        log.info("directory: %s", record_directory(directory))
    except (DirectoryError, DirectoryShrunk) as error:
        log.error("the directory changed nothing: %s", error)
