"""Writing notes and tags: the last that was written beside a run is all there is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from jobs.models import Job, JobNote, NoteTag, User


def write_note(run: Job, user: User, *, text: str, tags: Sequence[str], now: datetime) -> None:
    """Keep this note and these tags in place of what the person had beside the run; nothing where both are empty."""
    with transaction.atomic():
        # Whoever sends the same note twice at once waits here for the first; a run may have expired meanwhile.
        if Job.objects.select_for_update(no_key=True).filter(pk=run.pk).first() is None:
            return
        JobNote.objects.filter(job=run, user=user).delete()
        if not text and not tags:
            return
        note = JobNote.objects.create(job=run, user=user, text=text, changed_at=now)
        NoteTag.objects.bulk_create(NoteTag(note=note, name=name) for name in tags)
