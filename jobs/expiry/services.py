"""Removing runs and logs whose retention is over, in batches.

Each batch is a separate transaction and is selected again: a run that is stopped half-way needs no clean-up.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Model, QuerySet

from jobs.models import DirectoryImport, Job, JobOpening, JobShare, UnknownIdentity, WorkFailure

BATCH_ROWS = 500
"""The number of rows that one statement removes: it ends soon, so that new data does not wait for it."""

RUNS_TOGETHER = 50
"""Fewer, because the findings, advice and reports of each run are deleted with it."""

SWEPT_ROWS = 100
"""How many old rows of the same table each new row removes: more than it adds, and quick."""


def remove_rows(rows: QuerySet[Model]) -> Iterator[int]:
    """Delete these rows, which nothing else belongs to, by their keys; yields the number after each batch."""
    left = rows
    while keys := list(left.order_by("pk").values_list("pk", flat=True)[:BATCH_ROWS]):
        yield rows.filter(pk__in=keys).delete()[0]
        left = rows.filter(pk__gt=keys[-1])


def sweep(old: QuerySet[Any], order: str) -> None:
    """Delete some rows that are over, in this order; those that another process is deleting are skipped."""
    with transaction.atomic():
        some = old.select_for_update(skip_locked=True).order_by(order)[:SWEPT_ROWS]
        keys = list(some.values_list("pk", flat=True))
        if keys:
            old.filter(pk__in=keys).delete()


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

    Two queries, because the index of a person's runs finds either but not both at once. A locked run is left out.
    """
    own = Job.objects.filter(user=user_pk).order_by("ended_at", "pk").select_for_update(skip_locked=True)
    ended = list(own.filter(ended_at__lt=before)[:RUNS_TOGETHER])
    return ended or list(own.filter(ended_at__isnull=True, changed_at__lt=before)[:RUNS_TOGETHER])


def forget_runs(runs: Collection[Job]) -> None:
    """Delete these runs with everything that belongs to them: judgement, report, feedback, notes, shares."""
    Job.objects.filter(pk__in=[run.pk for run in runs]).delete()


def forget_work(kind: str, keys: Collection[int]) -> None:
    """Delete the failures of this work: its data no longer exists."""
    WorkFailure.objects.filter(kind=kind, key__in=keys).delete()
