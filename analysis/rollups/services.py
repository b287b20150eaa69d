"""Keeping the daily roll-ups: a judgement notes the days that it changes, and a sweep adds them up again."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import TruncDate

from analysis.history.run_sums import JudgedRun, RunSums, add_run
from analysis.marks.selectors import first_noted
from analysis.models import JobEfficiency
from analysis.rollups.models import SCALARS, PersonDay, ProjectDay, RollUpDue, WorkDay
from analysis.rollups.selectors import READ, judged_runs, site_zone
from jobs.selectors import project_name
from jobs.work_queue.services import Work, attempt_each

ROLL_UP = "roll-up"
DAYS_TOGETHER = 31
"""Days of a project that are added up in one transaction."""

BATCH_ROWS = 5000
WHOSE = ("user_id", "is_told_by_owner", "work_key", "job_id")


def note_changed(now: datetime, *judged: tuple[int, int, datetime | None]) -> None:
    """The sums of these days are no longer right: (user, project, end of a run) before and after it was judged.

    Called in the transaction of the judgement.
    """
    zone = site_zone()
    days = {(user, project, ended.astimezone(zone).date()) for user, project, ended in judged if ended is not None}
    RollUpDue.objects.bulk_create(_due(days, now))


def note_all(now: datetime) -> int:
    """Every day of every person is to be added up again; returns how many."""
    ended = JobEfficiency.objects.filter(ended_at__isnull=False)
    days = ended.annotate(day=TruncDate("ended_at", tzinfo=site_zone())).values_list("user_id", "project_id", "day")
    return len(RollUpDue.objects.bulk_create(_due(days.order_by().distinct(), now), batch_size=BATCH_ROWS))


def _due(days: Iterable[tuple[int, int, date]], now: datetime) -> list[RollUpDue]:
    return [RollUpDue(user_id=user, project_id=project, day=day, noted_at=now) for user, project, day in days]


def roll_up_due(limit: int, now: datetime) -> int:
    """Add up the days of up to `limit` projects that changed since; how many days were."""
    work = Work(ROLL_UP, partial(roll_up_project, now=now), is_recurring=True, name=project_name)
    return attempt_each(work, [first_noted(RollUpDue.objects.all(), "project_id", limit)], now, limit).done


def roll_up_project(project_pk: int, now: datetime) -> int:
    """Add up the days of a project that changed since; how many. One worker at a time does this for a project.

    What is older than the runs that are kept stays as it is: it can no longer be added up.
    """
    due: dict[date, list[int]] = defaultdict(list)
    for pk, day in RollUpDue.objects.filter(project=project_pk).values_list("pk", "day"):
        due[day].append(pk)
    kept_since = now.astimezone(site_zone()).date() - timedelta(days=settings.RUN_DAYS) if settings.RUN_DAYS else None
    for first in range(0, len(due), DAYS_TOGETHER):
        days = sorted(due)[first : first + DAYS_TOGETHER]
        with transaction.atomic():
            _store(project_pk, [day for day in days if kept_since is None or day > kept_since])
            RollUpDue.objects.filter(pk__in=[pk for day in days for pk in due[day]]).delete()
    return len(due)


def _store(project_pk: int, days: Sequence[date]) -> None:
    """Replace the roll-ups of these days of a project by what its judgements say now."""
    if not days:
        return
    persons: dict[tuple[Any, ...], RunSums] = defaultdict(RunSums)
    works: dict[tuple[Any, ...], RunSums] = defaultdict(RunSums)
    latest: dict[tuple[Any, ...], int] = defaultdict(int)
    whole: dict[date, RunSums] = defaultdict(RunSums)
    zone = site_zone()
    for user, is_told, work, job, *columns in judged_runs(Q(project=project_pk), days).values_list(*WHOSE, *READ):
        run = JudgedRun._make(columns)
        day = run.ended_at.astimezone(zone).date()
        add_run(persons[user, is_told, day], run, zone)
        add_run(works[user, is_told, work, day], run, zone)
        latest[user, is_told, work, day] = max(latest[user, is_told, work, day], job)
        if not is_told:
            add_run(whole[day], run, zone)
    for table in (PersonDay, ProjectDay, WorkDay):
        table.objects.filter(project=project_pk, day__in=days).delete()
    PersonDay.objects.bulk_create(
        PersonDay(user_id=user, is_told_by_owner=is_told, day=day, project_id=project_pk, **_columns(sums))
        for (user, is_told, day), sums in persons.items()
    )
    ProjectDay.objects.bulk_create(
        ProjectDay(day=day, project_id=project_pk, **_columns(sums)) for day, sums in whole.items()
    )
    WorkDay.objects.bulk_create(
        WorkDay(
            **{"user_id": key[0], "is_told_by_owner": key[1], "work_key": key[2], "day": key[3]},
            **{"project_id": project_pk, "latest_job": latest[key], **_columns(sums)},
        )
        for key, sums in works.items()
    )


def _columns(sums: RunSums) -> dict[str, Any]:
    return {**{name: getattr(sums, name) for name in SCALARS}, "sums": msgspec.msgpack.encode(sums)}
