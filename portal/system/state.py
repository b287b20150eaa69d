"""What is late, failed or missing, read once for the page of administrators and for `/metrics`."""

import logging
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, Min, Q

from analysis.exports.selectors import exports_waiting_since, refused_batch
from analysis.models import ExportBatch, MethodRecord, SilentNode
from analysis.months.kind import MonthKind
from analysis.months.selectors import months_not_closed
from analysis.predictions.selectors import methods_that_miss
from analysis.selectors import waiting_since
from analysis.silence.selectors import SilentRunningNode, jobs_missing_summaries, silent_nodes, silent_running_nodes
from jobs.imports.selectors import directory_imports, last_imports
from jobs.models import DirectoryImport, Process, QueueReading, Tally
from jobs.processes.selectors import processes_there
from jobs.queue.selectors import readings
from jobs.tallies.kinds import COLLECTOR_FAILURES, MESSAGES
from jobs.tallies.selectors import counted_since, steps_ended
from jobs.work_queue.selectors import failures
from portal.months import MONTHS
from portal.system.readiness import Part, parts
from reports.selectors import messages_waiting_since, reports_waiting_since
from reports.webhooks.selectors import failing_webhooks

log = logging.getLogger(__name__)

DUE_MAX = 10_000
"""Work is counted up to this number; otherwise a scrape would take longer the more work there is."""

IMPORTS_LOOKED_AT = timedelta(days=30)
LATELY = timedelta(days=1)
SILENT_SHOWN, REASONS_SHOWN = 100, 20


@dataclass(frozen=True)
class Due:
    """How much of one kind of work waits, up to `DUE_MAX`, and since when the oldest of it."""

    kind: str
    waiting: int
    since: datetime | None

    def oldest_s(self, now: datetime) -> float:
        return max((now - self.since).total_seconds(), 0.0) if self.since else 0.0


KINDS_OF_WORK: dict[str, Callable[[datetime], tuple[int, datetime | None]]] = {
    "judgement": lambda now: waiting_since(now, DUE_MAX),
    "report": lambda _: reports_waiting_since(DUE_MAX),
    "mail": lambda now: messages_waiting_since(now, DUE_MAX),
    "export": lambda _: exports_waiting_since(DUE_MAX),
}


@dataclass(frozen=True)
class Failed:
    """How much work of one kind failed, and since when the oldest of it."""

    kind: str
    is_aside: bool
    count: int
    since: datetime


@dataclass(frozen=True)
class SystemState:
    """The state of the portal at one moment; `collectors` and similar values are of the last day, by their labels."""

    now: datetime
    parts: list[Part]
    due: list[Due]
    failed: list[Failed]
    missing: Counter[tuple[str, str]]
    silent: list[SilentNode]
    silent_count: int
    silent_running: list[SilentRunningNode]
    collectors: list[tuple[tuple[str, ...], Tally]]
    steps_ended: dict[str, datetime]
    steps_failed: dict[str, datetime]
    unclosed: list[tuple[MonthKind, date | None]]
    messages: dict[tuple[str, ...], Tally]
    imported: dict[str, datetime]
    last_import: DirectoryImport | None
    queues: list[QueueReading]
    predictions: list[MethodRecord]
    refused: ExportBatch | None
    failing_webhooks: tuple[int, datetime | None]
    processes: list[Process]
    database_bytes: int
    disk: tuple[int, int] | None


def due_work(now: datetime) -> list[Due]:
    """The waiting work of each kind at this moment."""
    return [Due(kind, *waiting(now)) for kind, waiting in KINDS_OF_WORK.items()]


def failed_work() -> list[Failed]:
    """What failed, of each kind what is still retried and what was set aside."""
    rows = failures().values("kind", is_aside=Q(set_aside_at__isnull=False)).order_by("kind", "is_aside")
    return [Failed(**row) for row in rows.annotate(count=Count("pk"), since=Min("first_at"))]


def unclosed_months(now: datetime) -> list[tuple[MonthKind, date | None]]:
    """Of each kind the oldest month that could be closed and is not, None where there is none.

    A kind whose months cannot be found is left out: its step fails with the same error, and is told of as such.
    """
    found: list[tuple[MonthKind, date | None]] = []
    for kind in MONTHS:
        try:
            months = months_not_closed(kind, now)
        except DatabaseError:
            raise
        except Exception as error:
            log.warning("The months of %s cannot be found: %s", kind.title, type(error).__name__)
            continue
        found.append((kind, months[0] if months else None))
    return found


def silent_in_running_jobs(now: datetime) -> list[SilentRunningNode]:
    """The nodes of running jobs that have been silent for longer than the site allows."""
    return silent_running_nodes(now, timedelta(seconds=settings.INTERIM_SILENT_SECONDS))


def database_bytes() -> int:
    """The size of the database on its disk, without its log."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_database_size(current_database())")
        else:
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        return int(cursor.fetchone()[0])


def data_directory() -> tuple[int, int] | None:
    """Total and free bytes of the disk with this host's data directory; None if there is none."""
    try:
        usage = shutil.disk_usage(settings.VAR_DIR)
    except OSError:
        return None
    return usage.total, usage.free


def system_state(now: datetime) -> SystemState:
    """Everything that the page of administrators shows. Raises DatabaseError if the database is unreachable."""
    silent, day_ago = silent_nodes(now), now - LATELY
    ended, failed = steps_ended()
    return SystemState(
        now=now,
        parts=parts(now),
        due=due_work(now),
        failed=failed_work(),
        missing=jobs_missing_summaries(now),
        silent=list(silent[:SILENT_SHOWN]),
        silent_count=silent.count(),
        silent_running=silent_in_running_jobs(now),
        collectors=counted_since(COLLECTOR_FAILURES.name, day_ago)[:REASONS_SHOWN],
        steps_ended=ended,
        steps_failed=failed,
        unclosed=unclosed_months(now),
        messages=dict(counted_since(MESSAGES.name, day_ago)),
        imported=last_imports(now - IMPORTS_LOOKED_AT),
        last_import=directory_imports().first(),
        queues=list(readings()),
        predictions=methods_that_miss(),
        refused=refused_batch() if settings.EXPORT_TARGET else None,
        failing_webhooks=failing_webhooks(now),
        processes=list(processes_there(now)),
        database_bytes=database_bytes(),
        disk=data_directory(),
    )
