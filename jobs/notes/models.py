"""Tables of what people write beside their own runs: a note and some tags, for themselves alone."""

from django.db import models

from jobs.notes.tags import NOTE_LENGTH_MAX, TAG_LENGTH_MAX
from jobs.shown_text.models import OwnText


class JobNote(models.Model):
    """What a person wrote beside a run; `text` is empty where there are only tags.

    Only its writer reads it, and only on runs of their own: a run that turns out to be somebody else's keeps the note
    from that person too.
    """

    job = models.ForeignKey("jobs.Job", on_delete=models.CASCADE, related_name="notes")
    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="+")
    text = OwnText(max_length=NOTE_LENGTH_MAX, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "user"], name="note_once")]

    def __str__(self) -> str:
        return f"a note of {self.user} beside {self.job}"


class NoteTag(models.Model):
    """One tag of a note, as its writer spelled it."""

    note = models.ForeignKey(JobNote, on_delete=models.CASCADE, related_name="tags")
    name = OwnText(max_length=TAG_LENGTH_MAX)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["note", "name"], name="tag_once")]

    def __str__(self) -> str:
        return self.name
