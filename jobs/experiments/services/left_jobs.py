"""Jobs of runs that left the queue without a record: accounting is asked for them, a bounded number at a time.

So a run gets its final state also at a site without hooks, where nobody imports accounting often. Whose job it is
decides accounting: the record of a job that is not of the run's owner is not even stored here.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from jobs.accounting.services import store_runs
from jobs.experiments.models import RunJob
from jobs.experiments.selectors import left_the_queue
from jobs.queue.selectors import fresh_readings
from jobs.sacct import Accounting, SacctFormatError, job_runs
from jobs.slurm_client import QUEUE_TIMEOUT_S, SlurmClientError, accounting

ASKED_TOGETHER, OF_ONE_PERSON = 200, 20
"""Jobs that one round asks for: anybody can state numbers of jobs that never were."""

FIRST_PAUSE = timedelta(minutes=1)
"""Each further one is twice as long: within two weeks a job is asked for at most fifteen times."""

ATTEMPTS_WITHIN = timedelta(days=14)
"""How long before it was stated a job may have been started first: earlier jobs had the same number."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Left:
    """A stated job that left the queue, as it is asked for."""

    pk: int
    cluster: str
    job_id: int
    username: str
    stated_at: datetime


def record_left_jobs(now: datetime) -> int:
    """Store what accounting reports of such jobs in the clusters whose queue is read; how many runs were new."""
    read_at = {name: at for name, at in fresh_readings(now).items() if name in settings.QUEUE_CLUSTERS}
    left = _left(read_at, now) if read_at else []
    new, unanswered = 0, set[int]()
    for cluster in read_at:
        asked = [row for row in left if row.cluster in ("", cluster)]
        try:
            new += _record(cluster, asked, now) if asked else 0
        except (SlurmClientError, SacctFormatError) as error:
            log.error("accounting of %s did not answer: %s", cluster, type(error).__name__)
            unanswered.update(row.pk for row in asked)
    _note_asked([row.pk for row in left if row.pk not in unanswered], now)
    return new


def _left(read_at: Mapping[str, datetime], now: datetime) -> list[Left]:
    """The jobs to ask for, those never asked for first, of each person a few."""
    place = Window(RowNumber(), partition_by="run__owner", order_by=[F("ask_at").asc(nulls_first=True), "pk"])
    rows = left_the_queue(read_at, now).annotate(place=place).filter(place__lte=OF_ONE_PERSON)
    columns = rows.order_by("place", "pk").values_list("pk", "cluster", "job_id", "run__owner__username", "stated_at")
    return [Left(*row) for row in columns[:ASKED_TOGETHER]]


def _record(cluster: str, asked: Sequence[Left], now: datetime) -> int:
    since = min(row.stated_at for row in asked) - ATTEMPTS_WITHIN
    job_ids = sorted({row.job_id for row in asked})
    output = accounting(since, cluster=cluster, only=job_ids, timeout_s=QUEUE_TIMEOUT_S)
    found = job_runs(output.text, cluster=cluster, zone=UTC, delimiter=output.delimiter)
    stored = store_runs(_of_owners(found, {(row.job_id, row.username) for row in asked}), now)
    if stored.left_out:
        log.warning("accounting of %s: %d rows left out", cluster, len(stored.left_out))
    return stored.new


def _of_owners(found: Accounting, owned: Collection[tuple[int, str]]) -> Accounting:
    """The runs of the asking people, without those of others and without what has not ended."""
    kept = [
        (line, record)
        for line, record in zip(found.lines, found.records, strict=True)
        if (record.job_id, record.user_id) in owned
    ]
    return replace(found, lines=tuple(line for line, _ in kept), records=tuple(run for _, run in kept), skipped=())


def _note_asked(rows: Sequence[int], now: datetime) -> None:
    """Ask for what is still without a record later, each time after twice the pause."""
    asked = RunJob.objects.filter(pk__in=rows)
    for count in sorted(set(asked.values_list("asked_count", flat=True)), reverse=True):
        again_at = now + FIRST_PAUSE * 2**count
        asked.filter(asked_count=count).update(asked_count=count + 1, ask_at=again_at)
