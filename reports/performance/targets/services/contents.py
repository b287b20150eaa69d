"""What the automatic export writes of a batch of runs: a document for each, or one table of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from django.db.models.functions import Coalesce

from analysis.models import ExportBatch
from jobs.models import Job
from reports.performance.learning.selectors import learning_documents
from reports.performance.services import FORMATS
from reports.performance.targets.names import part_name, run_name

DOCUMENTS = "learning"
RUNS_TOGETHER = {DOCUMENTS: 500, "jsonl": 5000, "csv": 5000, "parquet": 5000}
"""Runs of one batch, by format: of documents those that are confirmed together, of a table some megabytes."""


@dataclass(frozen=True)
class File:
    """One file of a batch, and the runs that need nothing more once the target has it.

    Runs that were deleted meanwhile have no content.
    """

    name: str
    content: bytes | None
    runs: Sequence[int]


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
