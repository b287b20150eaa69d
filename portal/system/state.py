"""What is late, failed or missing, read once for the page of administrators and for `/metrics`."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Count, Min, Q

from analysis.exports.selectors import exports_waiting_since, refused_batch
from analysis.models import ExportBatch, MethodRecord, SilentNode
from analysis.policy import selectors as policy
from analysis.predictions.selectors import methods_that_miss
from analysis.selectors import waiting_since
from analysis.silence.selectors import (
    SilentRunningNode,
    jobs_missing_summaries,
    silent_nodes,
    silent_running_nodes,
)
from analysis.site import selectors as site
from jobs.failures.selectors import failures
from jobs.imports.selectors import directory_imports, last_imports
from jobs.models import DirectoryImport, Process, QueueReading, Tally
from jobs.processes.selectors import processes_there
from jobs.queue.selectors import readings
from jobs.tallies.kinds import COLLECTOR_FAILURES, MESSAGES, SWEEP_FAILURES
from jobs.tallies.selectors import counted_since, last_rounds
from portal.system.readiness import Part, parts
from reports.selectors import messages_waiting_since, reports_waiting_since
from reports.webhooks.selectors import failing_webhooks

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
    rounds_failed: list[tuple[tuple[str, ...], Tally]]
    rounds: dict[str, datetime]
    unclosed: dict[str, date]
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


def unclosed_months(now: datetime) -> dict[str, date]:
    """The oldest month of the `site` and of the `policy` export that could be closed and is not; without those that
    have none.

    A month that the site has not closed is none of the policy export.
    """
    months = {"site": site.months_not_closed(now), "policy": policy.months_not_closed()}
    return {figures: min(found) for figures, found in months.items() if found}


def seconds_since(month: date, now: datetime) -> float:
    """How long ago a month ended."""
    return (now - site.month_ends(month)[1]).total_seconds()


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
    failed = failures().values("kind", is_aside=Q(set_aside_at__isnull=False)).order_by("kind", "is_aside")
    silent, day_ago = silent_nodes(now), now - LATELY
    return SystemState(
        now=now,
        parts=parts(now),
        due=due_work(now),
        failed=[Failed(**row) for row in failed.annotate(count=Count("pk"), since=Min("first_at"))],
        missing=jobs_missing_summaries(now),
        silent=list(silent[:SILENT_SHOWN]),
        silent_count=silent.count(),
        silent_running=silent_in_running_jobs(now),
        collectors=counted_since(COLLECTOR_FAILURES.name, day_ago)[:REASONS_SHOWN],
        rounds_failed=counted_since(SWEEP_FAILURES.name, day_ago),
        rounds=last_rounds(),
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
