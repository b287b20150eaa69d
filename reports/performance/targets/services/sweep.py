"""The automatic export: judged runs are written to the target in batches, each by one worker, and taken off the list of
what waits only once the target has confirmed them.

Whatever happens in between, a batch is written again under the same names: at least once, never lost.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from django.conf import settings
from django.utils import timezone

from analysis.exports.selectors import refused_batch, runs_of, still_unfinished, unfinished_batches
from analysis.exports.services import confirm_runs, note_fault, open_batch, split_batch
from analysis.models import ExportBatch
from jobs.failures.services import Work, attempt_each, is_of_the_database
from jobs.tallies.kinds import EXPORTED_RUNS
from jobs.tallies.services import add
from reports.performance.targets.address import Address
from reports.performance.targets.faults import TargetError
from reports.performance.targets.services.contents import RUNS_TOGETHER, files_of
from reports.performance.targets.services.stores import opened

EXPORT = "export of runs"
"""The kind of work under which a failure is recorded; its key is the batch."""

PAUSE_MAX_S = 600.0
"""What failed is tried again after this at the latest: the target may be there again at any moment."""

log = logging.getLogger(__name__)


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
        if is_of_the_database(error) or not _was_split(batch_pk, now):
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


def _was_split(batch: int, now: datetime) -> bool:
    return split_batch(batch, now) is not None
