"""The sweep of running jobs: which of them were measured, what is shown of each, and the early words about them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from analysis.early.facts import EarlyFacts
from analysis.early.figures import running_figures
from analysis.early.findings import EarlyFinding
from analysis.early.models import EarlyWord, RunningRun
from analysis.early.rules import early_findings
from analysis.early.selectors import (
    TOGETHER,
    WORD,
    Measured,
    due_runs,
    facts_of,
    forgettable_runs,
    hourly_price,
    measured_jobs,
    queued_job,
    still_due,
)
from analysis.early.thresholds import EARLY_RULES_VERSION
from jobs.expiry.services import remove_rows
from jobs.models import QueuedJob
from jobs.queue.selectors import fresh_readings
from jobs.work_queue.services import Work, attempt_each

KEY = ("cluster", "job_id", "attempt")
NOTED = ("user", "project", "started_at", "new_revision", "gpu_hours_per_hour", "left_at")

LEFT_KEPT = timedelta(days=1)
"""A job that left the queue is remembered for so long if no record of it follows; one follows within minutes."""


def watch_running(limit: int, now: datetime) -> int:
    """Look at up to `limit` running jobs with new measurements; how many. A failure of one stops no other."""
    note_running(now)
    work = Work(WORD, partial(look_at, now=now), still_due=still_due, is_recurring=True, name=running_name)
    return attempt_each(work, due_runs(), now, limit).done


def note_running(now: datetime) -> None:
    """Note the newest measurements of every running job, and mark the jobs that no longer run.

    Of those, the ones that a record of Slurm has seen end are deleted, and those that left a day ago.
    A queue that was not read lately changes nothing.
    """
    listed = RunningRun.objects.filter(left_at=None)
    known = {tuple(key): state for *key, state in listed.values_list(*KEY, "new_revision")}
    running: set[tuple[str, int, int]] = set()
    for page in measured_jobs(now):
        rows = {(row.cluster, row.job_id, row.attempt): row for row in map(_row, page)}
        RunningRun.objects.bulk_create(
            (row for key, row in rows.items() if known.get(key) != row.new_revision),
            update_conflicts=True,
            unique_fields=KEY,
            update_fields=NOTED,
        )
        running |= rows.keys()
    _mark_left(running, fresh_readings(now))
    for _ in remove_rows(forgettable_runs(now - LEFT_KEPT)):
        pass


def _mark_left(running: Collection[tuple[str, int, int]], read_at: Mapping[str, datetime]) -> None:
    """Note of the jobs that are not among the running ones when the queue of their cluster did not list them first."""
    for cluster, at in read_at.items():
        known = RunningRun.objects.filter(cluster=cluster, left_at=None).values_list("pk", *KEY)
        gone = [pk for pk, *key in known if tuple(key) not in running]
        for first in range(0, len(gone), TOGETHER):
            RunningRun.objects.filter(pk__in=gone[first : first + TOGETHER]).update(left_at=at)


def look_at(run_pk: int, now: datetime) -> int:
    """Determine what is shown of one running job and which words hold; 0 where it has ended or another worker looks."""
    with transaction.atomic():
        run = RunningRun.objects.select_for_update(skip_locked=True).filter(pk=run_pk).first()
        job = queued_job(run) if run else None
        if run is None or job is None:
            return 0
        revision = run.new_revision
        facts = facts_of(run, job, now)
        _store_words(run, job, facts, early_findings(facts), now)
        run.figures, run.revision = asdict(running_figures(facts)), revision
        run.rules_version, run.looked_at = EARLY_RULES_VERSION, now
        run.save(update_fields=["figures", "revision", "rules_version", "looked_at"])
    return 1


def running_name(run_pk: int) -> str:
    """A running job for the log, without the name of a person."""
    run = RunningRun.objects.filter(pk=run_pk).first()
    return str(run) if run else f"run {run_pk}"


def remove_words(before: datetime) -> Iterable[int]:
    """Delete the words that were found before then; yields the number of each batch."""
    yield from remove_rows(EarlyWord.objects.filter(found_at__lt=before))


def _row(measured: Measured) -> RunningRun:
    job = measured.job
    return RunningRun(
        cluster=job.cluster,
        job_id=job.job_id,
        attempt=measured.attempt,
        user_id=job.user_id,
        project_id=job.project_id,
        started_at=measured.started_at,
        new_revision=measured.state.revision,
        gpu_hours_per_hour=hourly_price(job),
    )


def _store_words(
    run: RunningRun, job: QueuedJob, facts: EarlyFacts, found: Collection[EarlyFinding], now: datetime
) -> None:
    """Store the words that hold for the first time, confirm the known ones, and end those that hold no longer."""
    known = EarlyWord.objects.filter(cluster=run.cluster, job_id=run.job_id, attempt=run.attempt)
    codes = [finding.code.value for finding in found]
    known.exclude(code__in=codes).filter(over_at=None).update(over_at=now)
    rows = [_word(run, job, facts, finding, now) for finding in found]
    held = ("confidence", "is_fact", "evidence", "held_at", "over_at", "ends_at", "rules_version")
    EarlyWord.objects.bulk_create(rows, update_conflicts=True, unique_fields=(*KEY, "code"), update_fields=held)


def _word(run: RunningRun, job: QueuedJob, facts: EarlyFacts, finding: EarlyFinding, now: datetime) -> EarlyWord:
    limit_s = job.time_limit_s
    return EarlyWord(
        cluster=run.cluster,
        job_id=run.job_id,
        attempt=run.attempt,
        user_id=run.user_id,
        project_id=run.project_id,
        job_name=job.job_name,
        code=finding.code.value,
        confidence=finding.confidence,
        is_fact=finding.is_fact,
        evidence={**finding.evidence, "until_s": facts.run.elapsed_s},
        is_interactive=facts.is_interactive,
        gpus=job.gpus,
        started_at=run.started_at,
        ends_at=None if limit_s is None else run.started_at + timedelta(seconds=limit_s),
        gpu_hours_per_hour=run.gpu_hours_per_hour,
        found_at=now,
        held_at=now,
        rules_version=EARLY_RULES_VERSION,
    )
