"""Writing notes and tags: one note beside a run, in place of the one that its writer had read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from jobs.models import Job, JobNote, NoteTag, User
from jobs.notes.selectors import version_of


@dataclass(frozen=True)
class Written:
    """What somebody found beside a run when they wrote, and whether theirs took its place.

    `version` is of what is there now; `text` and `tags` are what was found, which stays where `is_kept` is false.
    """

    is_kept: bool
    version: str
    text: str = ""
    tags: tuple[str, ...] = ()


def write_note(
    run: Job, user: User, *, text: str, tags: Sequence[str], now: datetime, version: str | None = None
) -> Written:
    """Keep this note and these tags in place of what the person had beside the run; nothing where both are empty.

    With the `version` that the writer read (`jobs.notes.selectors.version_of`), only while it is still the present one,
    or holds the same; None does not ask.
    """
    with transaction.atomic():
        # Whoever sends the same note twice at once waits here for the first; a run may have expired meanwhile.
        if Job.objects.select_for_update(no_key=True).filter(pk=run.pk).first() is None:
            return Written(is_kept=True, version="")
        before = JobNote.objects.filter(job=run, user=user).prefetch_related("tags").first()
        found = tuple(tag.name for tag in before.tags.all()) if before else ()
        is_same = before is not None and before.text == text and set(found) == set(tags)
        if version is not None and version != version_of(before) and not is_same:
            return Written(False, version_of(before), before.text if before else "", found)
        if before is not None:
            before.delete()
        if not text and not tags:
            return Written(is_kept=True, version="")
        note = JobNote.objects.create(job=run, user=user, text=text, changed_at=now)
        NoteTag.objects.bulk_create(NoteTag(note=note, name=name) for name in tags)
        return Written(True, version_of(note))
