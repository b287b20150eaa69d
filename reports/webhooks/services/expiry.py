"""Removing deliveries of webhooks whose retention is over, in batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from jobs.expiry.services import remove_rows
from reports.models import WebhookDelivery


def remove_posts(before: datetime) -> Iterator[int]:
    """Delete the deliveries that were created before then; no word is older than the longest job by then."""
    yield from remove_rows(WebhookDelivery.objects.filter(created_at__lt=before))
