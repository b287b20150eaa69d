"""Reported jobs of people with an address, and the mail server they are told through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analysis.services import analyse_due
from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from reports.services.publishing import publish_due
from tests.mail_server import HOST, Post, mail_server
from tests.payloads import job_record, node_payload
from tests.reports.builders import TWO_OF_EIGHT, TWO_RANKS, WHOLE_REQUEST

ENDED_AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
REPORTED_AT = ENDED_AT + timedelta(minutes=10)
DUE_AT = ENDED_AT + timedelta(minutes=15)


@pytest.fixture
def ended(db: None) -> Callable[..., None]:
    """Jobs that ended, were measured and reported: alice's on two of eight GPUs unless said otherwise."""

    def arrive(*job_ids: int, gpus: list[dict[str, Any]] | None = None, address: str | None = None, **record: Any):
        for job_id in job_ids or (123456,):
            run = job_record(job_id=job_id, **{"request": WHOLE_REQUEST} | record)
            record_job(run)
            if gpus != []:
                record_node_summary(node_payload(gpus=gpus or TWO_OF_EIGHT, cpu=TWO_RANKS, job_id=job_id))
            mail = f"{run.user_id}@users.example" if address is None else address
            User.objects.filter(username=run.user_id).update(email=mail)
        analyse_due(1000, REPORTED_AT)
        publish_due(1000, REPORTED_AT)

    return arrive


@pytest.fixture
def smtp(settings) -> Iterator[Post]:
    """A real SMTP server, and the settings that lead there."""
    with mail_server() as post:
        settings.EMAIL_BACKEND = "reports.mail.emails.SmtpBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = HOST, post.port, 60
        settings.DEFAULT_FROM_EMAIL = "Kaiku <kaiku@hpc.example>"
        yield post
