"""Storing PDFs: each is made once, and kept for PDF_DAYS after its last request."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction

from jobs.work_queue.services import stores_nothing
from reports.models import Report, StoredPdf

SAME_ASKING = timedelta(days=1)
"""The last request is stored to the day, so that a row is written at most once a day."""


def stored_pdf(row: Report, now: datetime) -> bytes | None:
    """The stored PDF of a report, marked as requested now; None where there is none."""
    stored = StoredPdf.objects.filter(report=row).first()
    if stored is None:
        return None
    if stored.asked_at < now - SAME_ASKING:
        with where_it_can_be_stored():
            StoredPdf.objects.filter(report=row).update(asked_at=now)
    return bytes(stored.content)


def store_pdf(row: Report, content: bytes, now: datetime) -> None:
    """Keep the PDF that was made of this report, unless the report changed in the meantime."""
    with where_it_can_be_stored():
        # Publishing a report again writes its row first and removes its PDF after that.
        same = Report.objects.select_for_update().filter(pk=row.pk, efficiency_revision=row.efficiency_revision)
        if same.exists():
            StoredPdf.objects.update_or_create(report=row, defaults={"content": content, "asked_at": now})


@contextmanager
def where_it_can_be_stored() -> Iterator[None]:
    """Store in one transaction; a database that is read-only or full stores nothing, and the PDF is still returned."""
    try:
        with transaction.atomic():
            yield
    except DatabaseError as error:
        if not stores_nothing(error):
            raise
