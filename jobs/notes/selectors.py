"""Reading notes and tags: everything here is asked for by their writer and finds nobody else's."""

from collections.abc import Iterable

from django.db.models import F, Q, QuerySet

from jobs.models import Job, JobNote, NoteTag, User


def own_note(run: Job, user: User) -> JobNote | None:
    """What this person wrote beside a run of their own, its tags read with it; None where that is nothing."""
    return _own_notes(user).filter(job=run).prefetch_related("tags").first()


def version_of(note: JobNote | None) -> str:
    """What tells one state of a note from the next; empty where there is none."""
    return "" if note is None else note.changed_at.isoformat()


def noted_jobs(runs: QuerySet[Job], word: str, user: User) -> QuerySet[Job]:
    """Those of the runs whose note or one of whose tags contains the word, as `user` wrote them."""
    written = _own_notes(user).filter(Q(text__icontains=word) | Q(tags__name__icontains=word))
    return runs.filter(pk__in=written.values("job"))


def tags_by_run(runs: Iterable[Job], user: User) -> dict[int, list[str]]:
    """The tags of some runs that `user` gave them, by the key of the run and by name; runs without any are left out."""
    found: dict[int, list[str]] = {}
    rows = NoteTag.objects.filter(note__in=_own_notes(user), note__job__in=[run.pk for run in runs]).order_by("name")
    for run_pk, name in rows.values_list("note__job_id", "name"):
        found.setdefault(run_pk, []).append(name)
    return found


def _own_notes(user: User) -> QuerySet[JobNote]:
    return JobNote.objects.filter(user=user, job__user=F("user"))
