"""Reports and mail as background work: sweeps that take what is due, row by row."""

from __future__ import annotations

from celery import shared_task
from django.db import OperationalError

from reports.services.publishing import publish_due
from reports.services.sending import deliver_due

BATCH_SIZE = 100
MAIL_BATCH_SIZE = 50


@shared_task(
    acks_late=True,
    ignore_result=True,
    soft_time_limit=240,
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    max_retries=5,
)
def sweep() -> None:
    """Make the reports of new judgements; a full batch calls for another at once."""
    if publish_due(BATCH_SIZE) == BATCH_SIZE:
        sweep.delay()


@shared_task(
    acks_late=True,
    ignore_result=True,
    soft_time_limit=600,
    autoretry_for=(OperationalError,),
    retry_backoff=True,
    max_retries=5,
)
def deliver() -> None:
    """Tell people of new reports; a full batch calls for another at once."""
    if deliver_due(MAIL_BATCH_SIZE) == MAIL_BATCH_SIZE:
        deliver.delay()
