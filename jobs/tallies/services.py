"""Permanent counters over any number of processes: one row for each number, increased where the event happens."""

import json
import logging
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.utils import timezone

from jobs.models import Tally
from jobs.tallies.kinds import Counts, Times
from jobs.work_queue.services import is_of_the_database

HISTORY = timedelta(days=7)
"""A run that ended longer ago was imported as history: its delay does not describe this site."""

ADD = (
    "INSERT INTO jobs_tally (name, labels, value, first_at, last_at) VALUES {rows} ON CONFLICT (name, labels)"
    " DO UPDATE SET value = jobs_tally.value + excluded.value, last_at = excluded.last_at"
)

log = logging.getLogger(__name__)


def add(*counts: Counts) -> bool:
    """Count this in one statement; False where the database accepts no writes: no work fails because of it."""
    total: Counts = Counter()
    for each in counts:
        total.update(each)
    # In one order, so that two processes wait for each other at most.
    rows = sorted((name, stored_labels(labels), float(value)) for (name, labels), value in total.items() if value)
    if not rows:
        return True
    statement = ADD.format(rows=", ".join(["(%s, %s, %s, %s, %s)"] * len(rows)))
    at = connection.ops.adapt_datetimefield_value(timezone.now())
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement, [value for row in rows for value in (*row, at, at)])
    except (DatabaseError, InterfaceError) as error:
        # The work itself reports that the database is unreachable, full or read-only.
        if is_of_the_database(error):
            return False
        log.warning("%d numbers could not be counted: %s", len(rows), type(error).__name__)
    return True


def begin(kind: Times, labels: Iterable[str]) -> None:
    """Let these durations begin now, as 0, where none was counted yet; an error of the database stops nothing."""
    now = timezone.now()
    rows = [
        Tally(name=f"{kind.name}_sum", labels=stored_labels((label,)), value=0.0, first_at=now, last_at=now)
        for label in labels
    ]
    with suppress(DatabaseError, InterfaceError):
        Tally.objects.bulk_create(rows, ignore_conflicts=True)


def since_end(kind: Times, *ended_at: datetime | None) -> Counts:
    """How long ago these runs ended, for those that ended recently; an end in the future comes from a wrong clock."""
    now, counts = timezone.now(), Counter[tuple[str, tuple[str, ...]]]()
    for at in ended_at:
        if at is not None and timedelta() <= now - at < HISTORY:
            counts.update(kind.of((now - at).total_seconds()))
    return counts


def stored_labels(labels: tuple[str, ...]) -> str:
    """The labels as a row has them."""
    return json.dumps(labels)
