"""Background work of reports: a sweep that sends mail that is due, row by row, and the export of judged runs."""

from __future__ import annotations

from celery import shared_task

from reports.mail.services.sending import deliver_due
from reports.performance.targets.services.sweep import export_due

MAIL_BATCH_SIZE = 50
EXPORT_ROUND_S = 30.0
"""How long a round starts new files: where one worker does everything, the rest waits for it."""


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=600)
def deliver() -> None:
    """Send mail about new reports; after a full batch the next starts at once."""
    if deliver_due(MAIL_BATCH_SIZE) == MAIL_BATCH_SIZE:
        deliver.delay()


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240)
def export() -> None:
    """Write the runs that were judged since the last round to the target; the next one continues with what is left."""
    export_due(EXPORT_ROUND_S)
