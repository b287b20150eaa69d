"""`manage.py export_performance --to-target`: a round of the automatic export by hand, also for earlier runs."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from analysis.exports.selectors import exports_waiting_since, refused_batch
from analysis.exports.services import note_runs
from jobs.audit.services import Action, Kind, by_command, record_change
from jobs.failures.selectors import failures
from jobs.failures.services import try_again
from jobs.models import Job
from jobs.selectors import BY_SITE
from reports.performance.services import ended_runs
from reports.performance.targets.faults import Fault
from reports.performance.targets.services.sweep import EXPORT, export_due

COUNTED_MAX = 1_000_000


def export_to_target(since: datetime | None) -> str:
    """Write what waits, with `since` every judged run that ended since as well; says how many were written.

    Safe to stop and to start again: what was put on the list stays there. CommandError where the target takes nothing.
    """
    if settings.EXPORT_TARGET is None:
        raise CommandError("EXPORT_TARGET is not set: there is no target")
    noted = note_since(since) if since else 0
    try_again(failures(EXPORT).filter(claimed_until=None))
    written = sum(iter(export_due, 0))
    left, _ = exports_waiting_since(COUNTED_MAX)
    said = f"{f'{noted} runs put on the list, ' if since else ''}{written} written, {left} left"
    refused = refused_batch()
    if refused is not None and failures(EXPORT).filter(key=refused.pk, claimed_until__isnull=False).exists():
        # Its stored fault is that of an earlier try.
        return f"{said}: another worker is writing now"
    if refused is not None:
        raise CommandError(f"{said}: the target takes nothing: {Fault[refused.fault].said}")
    return f"{said} to the workers" if left else said


def note_since(since: datetime) -> int:
    """Put every judged run that ended since on the list, once that is logged; how many."""
    runs = ended_runs(Job.objects.filter(BY_SITE, efficiency__isnull=False), since)
    with transaction.atomic():
        what = f"since {since:%Y-%m-%d %H:%M}"
        record_change(by_command("export_performance"), Action.RUNS_EXPORTED, Kind.JOB, what, "to EXPORT_TARGET")
    return note_runs(runs.values_list("pk", flat=True).iterator(), timezone.now())
