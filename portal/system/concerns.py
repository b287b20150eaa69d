"""What an administrator should look at, since when, and what to do; the same limits as the alerts.

`tests/deploy/test_monitoring.py` compares the limits with the rules in deploy/monitoring.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.urls import reverse

from analysis.months.kind import LATE
from analysis.months.selectors import month_ends, overdue_s
from analysis.predictions.calibration import promised_percent
from analysis.predictions.quantities import Method, Quantity
from jobs.queue.selectors import fresh_since
from portal.steps import all_steps
from portal.system.state import LATELY, SystemState
from portal.system.work_names import failing, waiting
from reports.performance.targets.faults import Fault
from reports.prediction_texts import METHODS, QUANTITIES
from wire.numbers import counted, duration

LATE_S = {"judgement": 1800, "report": 900, "mail": 3600, "export": 7200}
"""How long work of each kind may wait: a judgement also waits for its nodes, mail for a server that is restarted, and
an export for its next round."""

STEPS_MISSED, STEP_LATE_S = 4, 900
"""A step is late after so many of its periods, and this long besides."""

FAILING_S = 86_400
"""How long work may fail that is always tried again, such as the closing of a month."""

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
        *_steps(state),
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
    url = reverse("admin:jobs_workfailure_changelist")
    for failed in state.failed:
        failing_s = (state.now - failed.since).total_seconds()
        if failed.is_aside:
            yield Concern(failing(failed.kind, failed.count), "Fix the cause, then retry.", failed.since, url)
        elif failing_s > FAILING_S:
            title = failing(failed.kind, failed.count, f"failing for {duration(failing_s)}")
            yield Concern(title, "It is tried again by itself. Fix the cause.", failed.since, url)
    for step in all_steps.STEPS:
        failed_at = state.steps_failed.get(step.name)
        ended_at = state.steps_ended.get(step.name)
        if failed_at and state.now - failed_at < LATELY and not (ended_at and ended_at > failed_at):
            title = f"Background work ended with an error: {step.title}"
            yield Concern(title, "All other steps continue. Check the log of the workers.", failed_at)
    if ("failed",) in state.messages:
        advice = "Check which messages failed, and what the mail server answered."
        url = f"{reverse('outbox')}?state=failed"
        yield Concern("Messages failed permanently within a day", advice, url=url)


def _steps(state: SystemState) -> Iterator[Concern]:
    """Steps that did not end without an error for long; without a worker, that is the problem."""
    if any(part.is_wrong for part in state.parts if part.name == "worker"):
        return
    for step in all_steps.steps_in_use():
        ended_at = state.steps_ended.get(step.name, state.now)
        late_s = (state.now - ended_at).total_seconds()
        if late_s > STEPS_MISSED * step.period_s + STEP_LATE_S:
            yield Concern(f"Not done for {duration(late_s)}: {step.title}", WORK_ADVICE, ended_at)


def _months(state: SystemState) -> Iterator[Concern]:
    for kind, month in state.unclosed:
        if month and overdue_s(kind, month, state.now) > LATE.total_seconds():
            title = f"The figures of {kind.title} for {month:%B %Y} are not closed"
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
