"""Removing PDFs, the text of mail and old rows of the outboxes whose retention is over, in batches."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.conf import settings

from jobs.expiry.services import remove_rows
from reports.models import Delivery, Notice, StoredPdf, WebhookDelivery


def remove_pdfs(before: datetime) -> Iterator[int]:
    """Delete the PDFs that nobody requested since then."""
    yield from remove_rows(StoredPdf.objects.filter(asked_at__lt=before))


def remove_letters(before: datetime) -> Iterator[int]:
    """Delete the messages that were written as files before then, and the texts that are about no report.

    No other text of mail is stored anywhere.
    """
    yield from remove_rows(Notice.objects.filter(delivery__created_at__lt=before))
    for file in Path(settings.EMAIL_FILE_PATH).glob("*.eml"):
        # Another process may remove it at the same time.
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < before.timestamp():
                file.unlink()
                yield 1


def remove_deliveries(before: datetime) -> Iterator[int]:
    """Delete rows of the outbox from before then whose reports are gone; the others prevent a second message."""
    yield from remove_rows(Delivery.objects.filter(created_at__lt=before, reports__isnull=True))


def remove_posts(before: datetime) -> Iterator[int]:
    """Delete the deliveries that were created before then; no word is older than the longest job by then."""
    yield from remove_rows(WebhookDelivery.objects.filter(created_at__lt=before))
