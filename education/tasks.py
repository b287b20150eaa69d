"""Lessons as background work: the check of their links that staff requested."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from education.services.links import check_asked_links


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=900)
def check_links() -> None:
    """Check every link, if a check was requested."""
    check_asked_links(timezone.now())
