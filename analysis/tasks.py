"""Analysis as background work: a sweep that takes what is due, row by row."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task
from django.db import OperationalError
from django.utils import timezone

from analysis.services import analyse_due

BATCH_SIZE = 200
LOOK_BACK = timedelta(hours=1)
RETRY = {"autoretry_for": (OperationalError,), "retry_backoff": True, "max_retries": 5}


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240, **RETRY)
def sweep_recent() -> None:
    """Judge the runs that changed lately; a full batch calls for another at once."""
    if analyse_due(BATCH_SIZE, since=timezone.now() - LOOK_BACK) == BATCH_SIZE:
        sweep_recent.delay()


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240, **RETRY)
def sweep_all() -> None:
    """Judge whatever an outage or a new rule left behind."""
    if analyse_due(BATCH_SIZE) == BATCH_SIZE:
        sweep_all.delay()
