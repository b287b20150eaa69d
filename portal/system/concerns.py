"""What an administrator should look at, since when, and what to do; the same limits as the alerts.

`tests/deploy/test_monitoring.py` compares the limits with the rules in deploy/monitoring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.urls import reverse

from analysis.predictions.calibration import promised_percent
from analysis.predictions.quantities import Method, Quantity
from analysis.site.selectors import month_ends
from jobs.queue.selectors import fresh_since
from portal.system.state import SystemState, seconds_since
from portal.system.work_names import SWEEPS, set_aside, waiting
from reports.numbers import counted, duration
from reports.performance.targets.faults import Fault
from reports.prediction_texts import METHODS, QUANTITIES

LATE_S = {"judgement": 1800, "report": 900, "mail": 3600, "export": 7200}
"""How long work of each kind may wait: a judgement also waits for its nodes, mail for a server that is restarted, and
an export for its next round."""

FLAGS_LATE_S = 86_400
"""How long ago flags may have been checked last: one that is not raised is not seen, one that is not cleared stays."""

MONTH_LATE_S = 14 * 86_400
"""How long after its end a month may be open: the site closes it after 7 days, if its jobs are analysed and checked."""

MONTHS_OF = {"site": "of the site", "policy": "of the policy export"}
MONTH_ADVICE = (
    "A month is closed a day after the last of its jobs was analysed, and once its daily sums are up to date. "
    "Check what is late or failed here, and the log of the workers."
)
IMPORTS_MISSED = 4
DISK_FREE_MIN = 0.1

PART_ADVICE = {
    "database": "Check that PostgreSQL runs and that DATABASE_URL reaches it.",
    "storing": "Free space on the database's disk, or end its read-only mode. Collectors keep their data.",
    "migrations": "Run kaiku migrate (manage.py migrate); it may run while the portal serves.",
    "worker": "Start a worker (systemctl restart 'kaiku-worker@*') or check its log. Nothing is lost: due work waits.",
    "ingest": "Start it (systemctl restart kaiku-ingest) or check its log. Nodes keep their data and send them later.",
    "broker": "Check that Redis runs and that REDIS_URL reaches it. Nothing is lost meanwhile.",
    "beat": "Start a worker with a beat: kaiku-worker@ has one.",
    "data directory": "Free space in KAIKU_VAR_DIR.",
}
PREDICTION_ADVICE = (
    "Its ranges are not stated, and the other method speaks first, until they hold again: nothing has to be done."
)
WAIT_ESTIMATES = (
    "They are shown on, with the share that the nightly backtest measured. docs/queue-waits.md has the method."
)
WEBHOOK_ADVICE = (
    "Their owners see it on their settings page, and each is switched off after 3 days. Where many fail, check that "
    "the workers reach the web: see docs/webhooks.md."
)
WORK_ADVICE = "Check that enough workers run, and check their log."


@dataclass(frozen=True)
class Concern:
    """One problem: what it is, since when if known, what to do, and where to read more."""

    title: str
    advice: str
    since: datetime | None = None
    url: str = ""


def concerns(state: SystemState) -> list[Concern]:
    """Current problems, the most urgent first."""
    return [
        *_parts(state),
        *_late(state),
        *_failed(state),
        *_flags(state),
        *_months(state),
        *_directory(state),
        *_queues(state),
        *_export(state),
        *_webhooks(state),
        *_nodes(state),
        *_running_nodes(state),
        *_predictions(state),
        *_storage(state),
        *_versions(state),
    ]


def _parts(state: SystemState) -> Iterator[Concern]:
    for part in state.parts:
        if part.is_wrong:
            yield Concern(f"{part.name.capitalize()}: {part.state}", PART_ADVICE[part.name], part.since)


def _late(state: SystemState) -> Iterator[Concern]:
    for due in state.due:
        if due.oldest_s(state.now) > LATE_S[due.kind]:
            waits = duration(due.oldest_s(state.now))
            yield Concern(f"{waiting(due.kind, due.waiting)}, the oldest for {waits}", WORK_ADVICE, due.since)


def _failed(state: SystemState) -> Iterator[Concern]:
    for failed in state.failed:
        if failed.is_aside:
            url = reverse("admin:jobs_workfailure_changelist")
            yield Concern(set_aside(failed.kind, failed.count), "Fix the cause, then retry.", failed.since, url)
    for (sweep,), _ in state.rounds_failed:
        what = SWEEPS.get(sweep, sweep)
        yield Concern(f"Background work ended with an error within a day: {what}", "Check the log of the workers.")
    if ("failed",) in state.messages:
        advice = "Check which messages failed, and what the mail server answered."
        url = f"{reverse('outbox')}?state=failed"
        yield Concern("Messages failed permanently within a day", advice, url=url)


def _flags(state: SystemState) -> Iterator[Concern]:
    checked_at = state.rounds.get("escalate")
    if checked_at and (state.now - checked_at).total_seconds() > FLAGS_LATE_S:
        waits = duration((state.now - checked_at).total_seconds())
        yield Concern(f"Flags were last checked {waits} ago", WORK_ADVICE, checked_at)


def _months(state: SystemState) -> Iterator[Concern]:
    for figures, month in state.unclosed.items():
        if seconds_since(month, state.now) > MONTH_LATE_S:
            title = f"The figures {MONTHS_OF[figures]} for {month:%B %Y} are not closed"
            yield Concern(title, MONTH_ADVICE, month_ends(month)[1])


def _directory(state: SystemState) -> Iterator[Concern]:
    if not settings.DIRECTORY_SOURCE:
        return
    stored_at = max(state.imported.values(), default=None)
    late_s = IMPORTS_MISSED * settings.DIRECTORY_SECONDS
    if stored_at is None or (state.now - stored_at).total_seconds() > late_s:
        advice = "New members and PIs have no access until it works again."
        yield Concern("The directory is not imported", advice, stored_at, reverse("directory-state"))


def _queues(state: SystemState) -> Iterator[Concern]:
    known = {reading.cluster: reading for reading in state.queues}
    for cluster in settings.QUEUE_CLUSTERS:
        reading = known.get(cluster)
        read_at = reading.read_at if reading else None
        if read_at is None or read_at < fresh_since(state.now):
            why = f"The last try failed: {reading.error}. " if reading and reading.error else ""
            advice = (
                f"{why}Workers need squeue and sacct there. Meanwhile the Queue page shows old jobs, marked as old."
            )
            yield Concern(f"The queue of {cluster} is not read", advice, read_at)


def _export(state: SystemState) -> Iterator[Concern]:
    if state.refused is not None:
        fault = Fault[state.refused.fault]
        advice = f"{fault.advice} Nothing is lost: runs wait and are written later. Jobs and reports are not affected."
        yield Concern(f"The target of the export takes nothing: {fault.said}", advice, state.refused.failed_since)


def _webhooks(state: SystemState) -> Iterator[Concern]:
    count, since = state.failing_webhooks
    if count:
        yield Concern(f"{counted(count, 'webhook')} failing for longer than a day", WEBHOOK_ADVICE, since)


def _nodes(state: SystemState) -> Iterator[Concern]:
    if state.silent_count:
        title = f"{counted(state.silent_count, 'node')} silent: no summary for their latest jobs"
        advice = "Run kaiku-collector.pyz check there, and check the messages of the hooks in the system's log."
        yield Concern(title, advice, state.silent[0].since, "#silent")


def _running_nodes(state: SystemState) -> Iterator[Concern]:
    if state.silent_running:
        title = f"{counted(len(state.silent_running), 'node')} of running jobs silent"
        advice = (
            "They sent measurements of a job that runs, and then nothing. Run kaiku-collector.pyz check there, and"
            " check kaiku-ship.timer and whether the node answers. The jobs themselves are not affected."
        )
        yield Concern(title, advice, state.silent_running[0].since, "#silent-running")


def _predictions(state: SystemState) -> Iterator[Concern]:
    for found in state.predictions:
        what, by = QUANTITIES[Quantity(found.quantity)].lower(), METHODS[Method(found.method)]
        title = f"Predictions miss their promise: {what}, by {by}"
        promised = f"{promised_percent(found.promised_fraction or 0.0)}%"
        held = f"{found.inside:,} of {found.ranged:,} ranges of 90 days held, {promised} were promised. "
        advice = WAIT_ESTIMATES if found.quantity == Quantity.WAIT_S else PREDICTION_ADVICE
        yield Concern(title, f"{held}{advice}", found.misses_since, reverse("site"))


def _storage(state: SystemState) -> Iterator[Concern]:
    if state.disk and state.disk[1] < DISK_FREE_MIN * state.disk[0]:
        yield Concern(f"{state.disk[1] / state.disk[0]:.0%} of the disk is free", PART_ADVICE["data directory"])


def _versions(state: SystemState) -> Iterator[Concern]:
    versions = sorted({process.version for process in state.processes})
    if len(versions) > 1:
        yield Concern(f"Several versions run: {', '.join(versions)}", "Restart the processes with the older version.")
