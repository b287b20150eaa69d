"""Background work of the whole: from a job's last word to its report, with or without the beat, and what goes daily."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from portal import expiry
from reports.services.publishing import follow_up as judge_and_report

BATCH_SIZE = 200
ALONE = 20
"""Where so much was due, another worker joins in: each calls one, so all that are free do as long as there is work."""

EXPIRES_S = 30
EXPIRE_SECONDS_A_KIND = 240

log = logging.getLogger(__name__)


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240)
def follow_up() -> None:
    """Judge what changed and make its reports; what this leaves undone the next one does."""
    if judge_and_report(ALONE) >= ALONE:
        call_another()
        judge_and_report(BATCH_SIZE)


def call_another() -> None:
    """Have another worker take part, if one is free; without a broker the beat's next word goes on."""
    try:
        follow_up.apply_async(expires=EXPIRES_S, retry=False)
    except (BrokerError, OSError):
        log.warning("the broker is away: what is due waits for the next word")


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=1800)
def expire() -> None:
    """Remove what was kept for its time; what this leaves goes the next day."""
    expiry.told(expiry.expire(timezone.now(), EXPIRE_SECONDS_A_KIND))
