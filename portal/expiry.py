"""Retention: each kind of data, its setting in days (0 is for ever), and how it is deleted in batches."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.db import close_old_connections, transaction
from django.utils import timezone

from analysis.early.services import remove_words
from analysis.escalation.services import remove_cleared
from analysis.expiry.services import thin_measurements
from analysis.models import JobEfficiency
from analysis.policy.services import remove_policy_rows
from analysis.predictions.services import remove_predictions
from analysis.selectors import JUDGEMENT
from analysis.silence.services import forget_silent_nodes
from analysis.waiting.selectors import CHECK
from jobs.audit.services import remove_entries
from jobs.device_sign_in.services import remove_over
from jobs.experiments.services.expiry import remove_logged_runs
from jobs.expiry.services import forget_runs, forget_work, locked_old_runs, remove_logs, remove_rows
from jobs.models import Job, User
from jobs.queue.services import remove_old_queues
from metrics.expiry import services as measurements
from portal.troubles import trouble
from reports.selectors import REPORT
from reports.services.expiry import remove_deliveries, remove_letters, remove_pdfs, remove_posts
from wire.numbers import counted

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind:
    """One kind of data; `remove` deletes what is from before an instant and yields the number of each batch."""

    name: str
    unit: str
    setting: str
    remove: Callable[[datetime], Iterator[int]]


@dataclass(frozen=True)
class Outcome:
    """The result for one kind: how much was deleted, whether that was all, and the error that stopped it."""

    kind: Kind
    removed: int
    is_all: bool
    error: Exception | None = None

    def __str__(self) -> str:
        days = getattr(settings, self.kind.setting)
        kept = f"kept for {counted(days, 'day')}" if days else "kept for ever"
        more = "" if self.is_all else "; more is left for the next run"
        if self.error:
            more = f"; stopped by {type(self.error).__name__}"
        return f"{self.kind.name}: {counted(self.removed, self.kind.unit)} deleted, {kept}{more}"


def expire(now: datetime, seconds_a_kind: float = float("inf")) -> list[Outcome]:
    """Delete expired data, for a limited number of seconds for each kind. A failure does not affect other kinds."""
    return [_expire(kind, now, seconds_a_kind) for kind in KINDS]


def expire_for(seconds_a_kind: int, now: datetime) -> int:
    """The same as a step of background work: of how many kinds more is left. Raises the first error that stopped one,
    after all others."""
    outcomes = expire(now, seconds_a_kind)
    errors = [outcome.error for outcome in outcomes if outcome.error]
    for outcome in outcomes:
        # What stops the server stops usually every kind: the error says it once.
        if outcome.error is None or trouble(outcome.error) is None:
            log.info("%s", outcome)
    if errors:
        raise errors[0]
    return sum(not outcome.is_all for outcome in outcomes)


def _expire(kind: Kind, now: datetime, seconds: float) -> Outcome:
    days, until_s, removed = getattr(settings, kind.setting), time.monotonic() + seconds, 0
    try:
        for count in kind.remove(now - timedelta(days=days)) if days else ():
            removed += count
            if time.monotonic() >= until_s:
                return Outcome(kind, removed, is_all=False)
    except Exception as error:
        # A broken connection would fail for every other kind too.
        close_old_connections()
        return Outcome(kind, removed, is_all=False, error=error)
    return Outcome(kind, removed, is_all=True)


def remove_runs(before: datetime) -> Iterator[int]:
    """Delete the runs that ended before then with everything measured and derived for them; each as a whole."""
    for user_pk in User.objects.order_by("pk").values_list("pk", flat=True):
        while runs := _forget_some(user_pk, before):
            yield runs
    yield from _forget_unknown(before)
    # Their reports were deleted with their runs, and there is nothing left to count; the rest is not of single runs.
    yield from (0 for _ in remove_deliveries(before))
    yield from (0 for _ in forget_silent_nodes(timezone.now()))
    yield from (0 for _ in remove_policy_rows(before))
    yield from (0 for _ in remove_words(before))


def _forget_some(user_pk: int, before: datetime) -> int:
    """Some runs of one person, in one transaction, so that none is left without its measurements and judged again."""
    with transaction.atomic():
        runs = locked_old_runs(user_pk, before)
        judged = JobEfficiency.objects.filter(job__in=runs)
        forget_work(REPORT, list(judged.values_list("pk", flat=True)))
        forget_work(JUDGEMENT, [run.pk for run in runs])
        forget_work(CHECK, [run.pk for run in runs])
        measurements.forget_runs([(run.cluster, run.job_id, run.attempt) for run in runs])
        forget_runs(runs)
    return len(runs)


def _forget_unknown(before: datetime) -> Iterator[int]:
    """Delete the measurements of runs whose record never arrived."""
    for keys in measurements.measured_runs(before):
        job_ids = [job_id for _, job_id, _ in keys]
        known = set(Job.objects.filter(job_id__in=job_ids).values_list("cluster", "job_id", "attempt"))
        with transaction.atomic():
            measurements.forget_runs(keys - known)
        yield len(keys - known)


def remove_audit_logs(before: datetime) -> Iterator[int]:
    """Delete records of views, shares, directory imports, sign-ins without an account, cleared flags, and changes."""
    yield from remove_logs(before)
    yield from remove_cleared(before)
    yield from remove_entries(before)
    # Written by servers of the previous version while the site migrated.
    yield from remove_rows(LogEntry.objects.filter(action_time__lt=before))


KINDS = (
    Kind("raw samples", "window", "RAW_DAYS", measurements.remove_raw_windows),
    Kind("use over time", "node", "SERIES_DAYS", thin_measurements),
    Kind("PDFs", "PDF", "PDF_DAYS", remove_pdfs),
    Kind("text of mail", "message", "MAIL_DAYS", remove_letters),
    Kind("runs", "run", "RUN_DAYS", remove_runs),
    Kind("predictions", "prediction", "RUN_DAYS", remove_predictions),
    Kind("logged runs", "logged run", "RUN_DAYS", remove_logged_runs),
    Kind("views and logs", "record", "LOG_DAYS", remove_audit_logs),
    Kind("sign-ins of programs", "code", "DEVICE_SIGN_IN_DAYS", remove_over),
    Kind("recent use of runs that no longer send", "node", "RUNNING_DAYS", measurements.remove_running_nodes),
    Kind("deliveries of webhooks", "post", "WEBHOOK_DAYS", remove_posts),
    Kind("queues that are no longer read", "job", "QUEUE_DAYS", remove_old_queues),
)
