"""Keeping what others waited for: a judgement notes idle GPUs, and a sweep checks who waited, again with new data."""

import sys
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from analysis.facts import JobFacts
from analysis.marks.selectors import swept_until
from analysis.marks.services import mark_swept
from analysis.models import JobEfficiency
from analysis.selectors import COMMITTED_LATE
from analysis.waiting.models import IdleHold
from analysis.waiting.rule import Waited, idle_gpus_by_node, waited
from analysis.waiting.selectors import (
    CHECK,
    changed_waits,
    due_holds,
    holds_within,
    idle_run_of,
    still_due,
    waiting_during,
)
from jobs.selectors import run_name
from jobs.work_queue.services import Work, attempt_each

WAITS = "changed waits"
LOOK_EVERY = timedelta(minutes=5)
RECENT = timedelta(days=1)
CHECK_AGAIN, CHECK_OLDER_AGAIN = timedelta(hours=1), timedelta(hours=12)
"""How long a check waits for further records after one that changes it: those who waited arrive one by one, over days.
Longer than changes are looked at again (`COMMITTED_LATE`), so that one record causes one check."""


def note_idle(row: JobEfficiency, facts: JobFacts, now: datetime) -> None:
    """Store which GPUs of a judged run never worked, for a check at once; called in the transaction of the judgement.

    Nothing is stored of a run that only its owner reported or that is not counted.
    """
    job = row.job
    is_counted = not row.is_told_by_owner and not row.uncounted_reason
    idle = idle_gpus_by_node(facts) if is_counted and job.started_at and job.ended_at else {}
    if not idle:
        if row.revision > 1:
            IdleHold.objects.filter(job=job).delete()
        return
    gpus = sum(count * nodes for count, nodes in idle.items())
    columns = {
        "user_id": job.user_id,
        "cluster": job.cluster,
        "partition": job.partition,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "idle": {str(count): nodes for count, nodes in idle.items()},
        "idle_gpus": gpus,
        "idle_gpu_hours": None if row.gpu_hours is None else row.gpu_hours * min(gpus / row.allocated_gpus, 1.0),
        "check_at": now,
        "checked_at": None,
        "is_shown": False,
    }
    IdleHold.objects.update_or_create(job=job, defaults=columns)


def check_waits(limit: int, now: datetime) -> int:
    """Check who waited during up to `limit` runs that are due; how many runs."""
    note_changed_waits(now)
    step, left = partial(check_run, now=now), partial(still_due, now=now)
    work = Work(CHECK, step, still_due=left, is_recurring=True, name=run_name)
    return attempt_each(work, due_holds(now), now, limit).done


def check_all_waits() -> int:
    """Check who waited until no check is due; how many remain because they failed, or another worker has them."""
    while check_waits(sys.maxsize, timezone.now()):
        pass
    return IdleHold.objects.filter(check_at__lte=timezone.now()).count()


def note_changed_waits(now: datetime) -> int:
    """Have the runs checked again during which a job waited whose record is new or changed; how many runs."""
    looked_at = swept_until(WAITS)
    at = looked_at or now
    if looked_at and now - at < LOOK_EVERY:
        return 0
    noted = 0
    for stretch in changed_waits(at - COMMITTED_LATE):
        settled = holds_within(stretch).filter(check_at=None)
        is_recent = Q(ended_at__gt=now - RECENT)
        noted += settled.filter(~is_recent).update(check_at=now + CHECK_OLDER_AGAIN)
        noted += settled.filter(is_recent).update(check_at=now + CHECK_AGAIN)
    mark_swept(WAITS, now)
    return noted


def check_run(job_pk: int, now: datetime) -> int:
    """Determine what others waited for during one run, by what is known now; 0 where another worker does."""
    with transaction.atomic():
        rows = IdleHold.objects.select_for_update(skip_locked=True).filter(pk=job_pk, check_at__lte=now)
        hold = rows.first()
        if hold is None:
            return 0
        run = idle_run_of(hold)
        found = waited(run, waiting_during(hold)) if run else Waited(0.0, 0, is_shown=False)
        hours = hold.idle_gpu_hours
        hold.wanted_gpu_hours = None if hours is None else hours * found.wanted_fraction
        hold.could_start, hold.is_shown = found.could_start, found.is_shown
        hold.check_at, hold.checked_at = None, now
        hold.save(update_fields=["wanted_gpu_hours", "could_start", "is_shown", "check_at", "checked_at"])
    return 1
