"""What is late, failed or missing, read once for whoever asks: the page of administrators and `/metrics` alike."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from analysis.selectors import waiting_since
from reports.selectors import messages_waiting_since, reports_waiting_since

DUE_MAX = 10_000
"""So many are counted; beyond them a scrape would take the longer the more there is to do."""

IMPORTS_LOOKED_AT = timedelta(days=30)


@dataclass(frozen=True)
class Due:
    """How much of one kind of work waits, up to `DUE_MAX`, and since when the first of it."""

    kind: str
    waiting: int
    since: datetime | None

    def oldest_s(self, now: datetime) -> float:
        return max((now - self.since).total_seconds(), 0.0) if self.since else 0.0


KINDS_OF_WORK: dict[str, Callable[[datetime], tuple[int, datetime | None]]] = {
    "judgement": lambda now: waiting_since(now, DUE_MAX),
    "report": lambda _: reports_waiting_since(DUE_MAX),
    "mail": lambda now: messages_waiting_since(now, DUE_MAX),
}


def due_work(now: datetime) -> list[Due]:
    """Of each kind of work what waits at this moment."""
    return [Due(kind, *waiting(now)) for kind, waiting in KINDS_OF_WORK.items()]


def database_bytes() -> int:
    """What the database takes on its disk, without its log."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])


def data_directory() -> tuple[int, int] | None:
    """Bytes in all and free bytes of the disk with the data directory of this host; None where there is none."""
    try:
        usage = shutil.disk_usage(settings.VAR_DIR)
    except OSError:
        return None
    return usage.total, usage.free
