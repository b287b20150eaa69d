"""Keeping what waits to be exported: a judgement notes its run, and a sweep takes the noted ones in batches."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import islice

from django.conf import settings
from django.db import transaction

from analysis.exports.models import ExportBatch, ExportDue
from analysis.exports.selectors import runs_of
from analysis.models import JobEfficiency

ROWS_TOGETHER = 5000
"""Rows of one statement."""


def note_export(judged: JobEfficiency, now: datetime) -> None:
    """This judgement is to be exported, if there is a target and Slurm has confirmed the run.

    Called in the transaction of the judgement.
    """
    if settings.EXPORT_TARGET is not None and not judged.is_told_by_owner:
        ExportDue.objects.create(job_id=judged.job_id, noted_at=now)


def note_compared(job_pks: Collection[int | None], now: datetime) -> None:
    """What these runs say of their predictions changed: their documents are to be exported, again if they were before.

    Called in the transaction of the comparison. Tables have no predictions.
    """
    if job_pks and settings.EXPORT_TARGET is not None and settings.EXPORT_FORMAT == "learning":
        judged = JobEfficiency.objects.filter(job__in=job_pks, is_told_by_owner=False)
        note_runs(judged.order_by("job").values_list("job", flat=True), now)


def note_runs(job_pks: Iterable[int], now: datetime) -> int:
    """Have these runs exported, again if they were before; how many."""
    left, noted = iter(job_pks), 0
    while rows := [ExportDue(job_id=pk, noted_at=now) for pk in islice(left, ROWS_TOGETHER)]:
        noted += len(ExportDue.objects.bulk_create(rows))
    return noted


def open_batch(size: int, now: datetime) -> int | None:
    """Put up to `size` of what was noted first into a new batch; its key, None where nothing waits.

    What another worker is putting into its own batch is left to it. A run that is in an unfinished batch waits: what
    was read of it earlier must not be written last.
    """
    with transaction.atomic():
        being_written = ExportDue.objects.filter(batch__isnull=False).values("job")
        noted = ExportDue.objects.filter(batch=None).exclude(job__in=being_written).order_by("pk")
        waiting = noted.select_for_update(skip_locked=True)
        keys = list(waiting.values_list("pk", flat=True)[:size])
        if not keys:
            return None
        batch = ExportBatch.objects.create(opened_at=now)
        ExportDue.objects.filter(pk__in=keys).update(batch=batch)
    return batch.pk


def confirm_runs(batch: int, job_pks: Collection[int]) -> None:
    """The target has these runs of a batch; a run that was judged again meanwhile was noted again."""
    with transaction.atomic():
        ExportDue.objects.filter(batch=batch, job__in=job_pks).delete()
        if ExportDue.objects.filter(batch=batch).exists():
            ExportBatch.objects.filter(pk=batch).update(fault="", failed_since=None)
        else:
            ExportBatch.objects.filter(pk=batch).delete()


def note_fault(batch: int, fault: str, now: datetime) -> None:
    """The target did not take this batch."""
    ExportBatch.objects.filter(pk=batch, failed_since=None).update(failed_since=now)
    ExportBatch.objects.filter(pk=batch).update(fault=fault)


def split_batch(batch: int, now: datetime) -> int | None:
    """Put the second half of the runs of a batch into a new one; its key, None where there is one run alone."""
    with transaction.atomic():
        runs: Sequence[int] = runs_of(batch)
        if len(runs) < 2:
            return None
        half = ExportBatch.objects.create(opened_at=now)
        ExportDue.objects.filter(batch=batch, job__in=runs[len(runs) // 2 :]).update(batch=half)
    return half.pk
