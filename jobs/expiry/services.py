"""Removing runs and logs that were kept for their time, some rows at a time.

Each batch is a transaction of its own and is chosen anew: whoever is stopped half-way leaves nothing to clean up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db.models import Model, QuerySet

from jobs.models import DirectoryImport, Job, JobOpening, JobShare, UnknownIdentity, WorkFailure

BATCH_ROWS = 500
"""As many rows as one statement removes: it ends soon, and nothing that arrives meanwhile waits for it."""

RUNS_TOGETHER = 50
"""With each run go its findings, advice and reports."""


def remove_rows(rows: QuerySet[Model]) -> Iterator[int]:
    """Delete these rows, which nothing else belongs to, by their keys; yields how many after each batch."""
    left = rows
    while keys := list(left.order_by("pk").values_list("pk", flat=True)[:BATCH_ROWS]):
        yield rows.filter(pk__in=keys).delete()[0]
        left = rows.filter(pk__gt=keys[-1])


def remove_logs(before: datetime) -> Iterator[int]:
    """Delete who opened a run for the last time before then, shares that ended before, imports of directories, and
    unknown identities that tried to sign in for the last time before.
    """
    yield from remove_rows(JobOpening.objects.filter(last_at__lt=before))
    yield from remove_rows(JobShare.objects.filter(expires_at__lt=before))
    yield from remove_rows(DirectoryImport.objects.filter(began_at__lt=before))
    yield from remove_rows(UnknownIdentity.objects.filter(last_at__lt=before))


def locked_old_runs(user_pk: int, before: datetime) -> list[Job]:
    """Some runs of one person that ended before then, or never ended and did not change since; locked for the caller.

    The index of a person's runs finds either, as it would not both at once. A run that somebody else holds is left out.
    """
    own = Job.objects.filter(user=user_pk).order_by("ended_at", "pk").select_for_update(skip_locked=True)
    ended = list(own.filter(ended_at__lt=before)[:RUNS_TOGETHER])
    return ended or list(own.filter(ended_at__isnull=True, changed_at__lt=before)[:RUNS_TOGETHER])


def forget_runs(runs: Collection[Job]) -> None:
    """Delete these runs with everything that hangs on them: judgement, report, feedback, shares, openings."""
    Job.objects.filter(pk__in=[run.pk for run in runs]).delete()


def forget_work(kind: str, keys: Collection[int]) -> None:
    """Forget that this work failed: there is nothing left to do it on."""
    WorkFailure.objects.filter(kind=kind, key__in=keys).delete()
