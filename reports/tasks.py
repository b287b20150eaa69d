"""Mail as background work: a sweep that sends what is due, row by row."""

from __future__ import annotations

from celery import shared_task

from reports.mail.services.sending import deliver_due

MAIL_BATCH_SIZE = 50


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=600)
def deliver() -> None:
    """Send mail about new reports; after a full batch the next starts at once."""
    if deliver_due(MAIL_BATCH_SIZE) == MAIL_BATCH_SIZE:
        deliver.delay()
