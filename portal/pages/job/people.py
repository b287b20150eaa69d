"""What people did with a run: what they said of it, whether support may look, who did, and the owner's own notes."""

from __future__ import annotations

from datetime import datetime

from analysis.selectors import feedback_of
from jobs.models import Job, User
from jobs.notes.selectors import own_note, version_of
from jobs.selectors import led_projects, openings_of, shares_of
from portal.pages.job.forms import NoteForm, ShareForm


def people(run: Job, user: User, now: datetime) -> dict[str, object]:
    """For everybody who may open the run; what is the owner's alone is empty for others."""
    is_owner = run.user_id == user.pk
    shares = list(shares_of(run))
    held = [share for share in shares if share.revoked_at is None and share.expires_at > now]
    said = list(feedback_of(run))
    return {
        "is_owner": is_owner,
        "share": held[0] if held else None,
        "ended_shares": [share for share in shares if share not in held] if is_owner else [],
        "share_form": ShareForm(),
        "openings": openings_of(run) if is_owner else None,
        "may_answer": is_owner or led_projects(user).filter(pk=run.project_id).exists(),
        "my_answers": [answer for answer in said if answer.user_id == user.pk],
        "other_answers": [answer for answer in said if answer.user_id != user.pk],
    }


def note_part(run: Job, user: User) -> dict[str, object]:
    """The owner's note and tags and the form for them; nothing for anybody else."""
    if run.user_id != user.pk:
        return {}
    note = own_note(run, user)
    tags = sorted((tag.name for tag in note.tags.all()), key=str.casefold) if note else []
    form = NoteForm(initial={"text": note.text if note else "", "tags": ", ".join(tags), "version": version_of(note)})
    return {"note": note, "tags": tags, "note_form": form}
