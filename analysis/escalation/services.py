"""Raising and clearing flags: a sweep checks every subject that may have changed, one by one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction

from analysis.cases.services import close_case, open_case
from analysis.escalation.models import Flag
from analysis.escalation.rules import RULES_VERSION, Evidence, FlagLimits, Reason, Step, evidence_of, step_of
from analysis.escalation.selectors import (
    IS_OPEN,
    flag_limits,
    projects_to_check,
    sums_of,
    sums_of_works,
    users_to_check,
    window,
)
from analysis.history.run_sums import RunSums, first_and_last
from jobs.expiry.services import remove_rows
from jobs.selectors import project_name
from jobs.work_queue.services import Work, attempt_each

OF_PEOPLE, OF_PROJECTS = "flag of a person", "flags of a project"
"""The kinds of work under which a failure is recorded; the key is the account or the project."""


def escalate(now: datetime) -> int:
    """Raise and clear every flag that is due; how many. What fails for one subject affects no other."""
    limits = flag_limits()
    people = Work(OF_PEOPLE, partial(check_user, now=now), is_recurring=True, name=lambda user: f"account {user}")
    projects = Work(OF_PROJECTS, partial(check_project, now=now), is_recurring=True, name=project_name)
    changed = attempt_each(people, [users_to_check(now, limits)], now).done
    return changed + attempt_each(projects, [projects_to_check(now, limits)], now).done


def check_user(user: int, now: datetime) -> int:
    """Raise or clear the flag of one person; 1 where it changed."""
    limits = flag_limits()
    return _check({"kind": Flag.Kind.USER, "user_id": user}, sums_of(window(now, limits), user=user), now, limits)


def check_project(project: int, now: datetime) -> int:
    """Raise or clear the flags of one project and of its works; how many changed."""
    limits = flag_limits()
    period = window(now, limits)
    whole = {"kind": Flag.Kind.PROJECT, "project_id": project}
    changed = _check(whole, sums_of(period, project=project), now, limits)
    works = sums_of_works(project, period)
    flagged = Flag.objects.filter(IS_OPEN, kind=Flag.Kind.WORK, project=project, user__isnull=False)
    for user, key in sorted({*works, *flagged.values_list("user_id", "work_key")}):
        work = {"kind": Flag.Kind.WORK, "user_id": user, "project_id": project, "work_key": key}
        changed += _check(work, works.get((user, key), RunSums()), now, limits)
    return changed


def _check(subject: dict[str, Any], sums: RunSums, now: datetime, limits: FlagLimits) -> int:
    """Do what the rule states about one subject; 1 where a flag was raised or cleared."""
    today = first_and_last(window(now, limits))[1]
    evidence = evidence_of(sums, today, limits)
    with transaction.atomic():
        flag = Flag.objects.select_for_update().filter(IS_OPEN, **subject).first()
        step, reason = step_of(flag is not None, evidence.counted, limits)
        if flag is None:
            return _raise(subject, evidence, now) if step is Step.RAISE else 0
        _store_latest(flag, evidence)
        if step is not Step.CLEAR or reason is None:
            return 0
        return _clear(flag, reason, now)


def _raise(subject: dict[str, Any], evidence: Evidence, now: datetime) -> int:
    stored = msgspec.to_builtins(evidence)
    try:
        with transaction.atomic():
            flag = Flag.objects.create(
                **subject,
                raised_at=now,
                visible_to_staff_at=now + timedelta(days=settings.FLAG_GRACE_DAYS),
                rules_version=RULES_VERSION,
                evidence=stored,
                latest=stored,
                unused_gpu_hours=evidence.counted.unused_gpu_hours,
                saved_gpu_hours=evidence.counted.saved_gpu_hours,
            )
            open_case(flag, now)
    except IntegrityError:
        # Another sweep raised it in the meantime.
        return 0
    return 1


def _store_latest(flag: Flag, evidence: Evidence) -> None:
    stored = msgspec.to_builtins(evidence)
    if stored != flag.latest:
        flag.latest = stored
        flag.unused_gpu_hours = evidence.counted.unused_gpu_hours
        flag.saved_gpu_hours = evidence.counted.saved_gpu_hours
        flag.save(update_fields=["latest", "unused_gpu_hours", "saved_gpu_hours"])


def _clear(flag: Flag, reason: Reason, now: datetime) -> int:
    flag.cleared_at, flag.cleared_by = now, reason.value
    flag.save(update_fields=["cleared_at", "cleared_by"])
    close_case(flag, now)
    return 1


def remove_cleared(before: datetime) -> Iterator[int]:
    """Delete flags that cleared before then, with their cases; yields the number after each batch."""
    yield from remove_rows(Flag.objects.filter(cleared_at__lt=before))
