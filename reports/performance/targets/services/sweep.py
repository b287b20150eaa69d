"""The automatic export: judged runs are written to the target in batches, each by one worker, and taken off the list of
what waits only once the target has confirmed them.

Whatever happens in between, a batch is written again under the same names: at least once, never lost.
"""

import logging
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import msgspec
from django.conf import settings
from django.db.models.functions import Coalesce
from django.utils import timezone

from analysis.exports.selectors import refused_batch, runs_of, still_unfinished, unfinished_batches
from analysis.exports.services import confirm_runs, note_fault, open_batch, split_batch
from analysis.models import ExportBatch
from jobs.models import Job
from jobs.tallies.kinds import EXPORTED_RUNS
from jobs.tallies.services import add
from jobs.work_queue.services import Work, attempt_each, is_of_the_database
from reports.performance.learning.selectors import learning_documents
from reports.performance.services import FORMATS
from reports.performance.targets.address import Address, part_name, run_name
from reports.performance.targets.faults import TargetError
from reports.performance.targets.services.stores import opened

EXPORT = "export of runs"
"""The kind of work under which a failure is recorded; its key is the batch."""

PAUSE_MAX_S = 600.0
"""What failed is tried again after this at the latest: the target may be there again at any moment."""

DOCUMENTS = "learning"
RUNS_TOGETHER = {DOCUMENTS: 500, "jsonl": 5000, "csv": 5000, "parquet": 5000}
"""Runs of one batch, by format: of documents those that are confirmed together, of a table some megabytes."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class File:
    """One file of a batch, and the runs that need nothing more once the target has it.

    Runs that were deleted meanwhile have no content.
    """

    name: str
    content: bytes | None
    runs: Sequence[int]


def export_due(seconds: float = math.inf, now: datetime | None = None) -> int:
    """Write what waits, and start no more after so many seconds; how many runs were written.

    Nothing where no target is set. While the target refuses a batch, only what it refused is tried again.
    """
    target = settings.EXPORT_TARGET
    if target is None:
        return 0
    now, until_s = now or timezone.now(), time.monotonic() + seconds
    writing = Work(
        EXPORT,
        partial(write_batch, target=target, until_s=until_s, now=now),
        still_due=still_unfinished,
        is_recurring=True,
        pause_max_s=PAUSE_MAX_S,
    )
    return attempt_each(writing, _batches(until_s, now), now).done


def _batches(until_s: float, now: datetime) -> Iterator[list[int]]:
    """What is unfinished, then new batches as long as there is time and the target takes them."""
    yield unfinished_batches()
    while time.monotonic() < until_s and refused_batch() is None:
        batch = open_batch(RUNS_TOGETHER[settings.EXPORT_FORMAT], now)
        if batch is None:
            return
        yield [batch]


def write_batch(batch_pk: int, *, target: Address, until_s: float, now: datetime) -> int:
    """Write the runs of a batch, as many as there is time for; how many. Raises TargetError, once that is stored."""
    batch = ExportBatch.objects.get(pk=batch_pk)
    try:
        written = _write(batch, target, until_s)
    except TargetError as error:
        note_fault(batch_pk, error.fault.name, now)
        raise
    except Exception as error:
        if is_of_the_database(error) or split_batch(batch_pk, now) is None:
            raise
        log.warning("export of runs: batch %s is tried in halves, because a run in it cannot be written", batch_pk)
        return 0
    confirm_runs(batch_pk, written)
    add(EXPORTED_RUNS.of(times=len(written)))
    return len(written)


def _write(batch: ExportBatch, target: Address, until_s: float) -> list[int]:
    """The runs of which the target has everything; a run that was deleted meanwhile needs nothing."""
    written: list[int] = []
    with opened(target) as store:
        for file in files_of(batch, runs_of(batch.pk), settings.EXPORT_FORMAT):
            if file.content is not None:
                store.put(file.name, file.content)
            written += file.runs
            if time.monotonic() >= until_s:
                break
    return written


def files_of(batch: ExportBatch, job_pks: Sequence[int], form: str) -> Iterator[File]:
    """The files of these runs, each made when it is needed; every run belongs to one of them."""
    return _documents(job_pks) if form == DOCUMENTS else _table(batch, job_pks, form)


def _table(batch: ExportBatch, job_pks: Sequence[int], form: str) -> Iterator[File]:
    runs = Job.objects.filter(pk__in=job_pks, efficiency__isnull=False)
    content = b"".join(FORMATS[form].write(runs)) if runs.exists() else None
    yield File(part_name(batch.pk, batch.opened_at, FORMATS[form].ending), content, job_pks)


def _documents(job_pks: Sequence[int]) -> Iterator[File]:
    runs = Job.objects.filter(pk__in=job_pks, efficiency__isnull=False)
    # Read before the documents: should a run be judged between the two, it is exported again under its next name.
    named = {
        (cluster, str(job_id), attempt): (pk, run_name(cluster, job_id, attempt, revision, at))
        for pk, cluster, job_id, attempt, revision, at in runs.values_list(
            "pk", "cluster", "job_id", "attempt", "efficiency__revision", Coalesce("ended_at", "started_at")
        )
    }
    gone = dict.fromkeys(job_pks)
    for document in learning_documents(runs):
        about = document.job_metadata
        pk, name = named[about.cluster, about.job_id, about.attempt]
        gone.pop(pk, None)
        yield File(name, msgspec.json.encode(document), [pk])
    yield File("", None, list(gone))
