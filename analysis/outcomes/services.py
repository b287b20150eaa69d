"""Keeping what became of advice: a judgement notes its work, and a sweep determines the outcomes of that work again."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Min

from analysis.marks.selectors import first_noted
from analysis.models import JobEfficiency
from analysis.months.kind import MonthKind
from analysis.months.selectors import next_month
from analysis.outcomes.following import Outcome, outcomes
from analysis.outcomes.models import AdviceDay, AdviceDue, AdviceOutcome
from analysis.outcomes.quality import month_figures
from analysis.outcomes.selectors import (
    SETTLED_AFTER,
    WorkRuns,
    days_of_advice,
    given_between,
    months_with_advice,
    runs_of_work,
    works_moved_to_cpus,
)
from analysis.predictions.services import settle as settle_predictions
from analysis.rollups.selectors import site_zone
from analysis.works.services import forget_old_pipelines, store_pipelines
from jobs.models import Job
from jobs.work_queue.services import Work, attempt_each

SETTLE = "outcome of advice"
BATCH_ROWS = 5000
DAYS_TOGETHER = 100
"""Days of a person that are added up in one query."""
WAITING_MAX = timedelta(hours=1)
OF_OUTCOME = (
    *("status", "later_runs", "following_runs", "failed_runs", "other_failed_runs", "compared_runs"),
    *("realised_gpu_hours", "first_at", "util_percent_after", "gpu_hours_after", "run_s_after"),
    *("credited_runs", "credited_compared_runs", "credited_gpu_hours"),
)
"""The columns that an `Outcome` has under the same name."""


def note_work(job: Job, now: datetime) -> None:
    """Another run of this work was judged: what became of its advice may have changed.

    Called in the transaction of the judgement.
    """
    if job.work_key:
        AdviceDue.objects.create(user_id=job.user_id, work_key=job.work_key, noted_at=now)


def note_all(now: datetime) -> int:
    """The outcomes of every work are to be determined again; returns how many works."""
    judged = JobEfficiency.objects.exclude(work_key="").values_list("user_id", "work_key")
    rows = [AdviceDue(user_id=user, work_key=key, noted_at=now) for user, key in judged.order_by().distinct()]
    AdviceDue.objects.bulk_create(rows, batch_size=BATCH_ROWS)
    return len(rows)


def settle_due(limit: int, now: datetime) -> int:
    """Determine the outcomes of the works of up to `limit` people that changed since; how many works did."""
    _note_moves_to_cpus(now)
    forget_old_pipelines(now)
    due = [first_noted(AdviceDue.objects.all(), "user_id", limit)]
    return attempt_each(Work(SETTLE, partial(settle_person, now=now), is_recurring=True), due, now, limit).done


def _note_moves_to_cpus(now: datetime) -> None:
    """Works that may have gone to a CPU partition as advised: their runs there are not judged and note nothing."""
    works = works_moved_to_cpus()
    AdviceDue.objects.bulk_create(AdviceDue(user_id=user, work_key=key, noted_at=now) for user, key in works)


def settle_person(user_pk: int, now: datetime) -> int:
    """Determine the outcomes of one person's works that changed, their predictions and pipelines; how many works.

    One worker at a time does this.
    """
    due: dict[str, list[int]] = {}
    for pk, key in AdviceDue.objects.filter(user=user_pk).order_by("pk").values_list("pk", "work_key"):
        due.setdefault(key, []).append(pk)
    for key, pks in due.items():
        with transaction.atomic():
            settle_work(user_pk, key)
            settle_predictions(user_pk, key, now)
            AdviceDue.objects.filter(pk__in=pks).delete()
    if due:
        store_pipelines(user_pk, now)
    return len(due)


def settle_work(user_pk: int, work_key: str) -> None:
    """Store what became of the advice on the latest runs of one work.

    What nobody could answer yet goes with advice that a new judgement no longer gives; what was answered stays.
    """
    stored = {(row.job_id, row.kind): row for row in AdviceOutcome.objects.filter(user=user_pk, work_key=work_key)}
    read = runs_of_work(user_pk, work_key, {key: row.given_at for key, row in stored.items()})
    found = {(each.pk, each.advice.kind): each for each in outcomes(read.runs)}
    changed, new = [], []
    for key, outcome in found.items():
        columns = _columns(outcome, read)
        row = stored.get(key)
        if row is None:
            new.append(AdviceOutcome(job_id=key[0], kind=key[1], user_id=user_pk, work_key=work_key, **columns))
        elif any(getattr(row, name) != value for name, value in columns.items()):
            for name, value in columns.items():
                setattr(row, name, value)
            changed.append(row)
    seen = {run.pk for run in read.runs}
    gone = [row for key, row in stored.items() if key not in found and key[0] in seen and not row.later_runs]
    AdviceOutcome.objects.filter(pk__in=[row.pk for row in gone]).delete()
    # A run that belonged to another work before has its rows there.
    AdviceOutcome.objects.filter(job__in={row.job_id for row in new}).exclude(work_key=work_key).delete()
    AdviceOutcome.objects.bulk_create(new)
    if changed:
        AdviceOutcome.objects.bulk_update(changed, [*_columns(next(iter(found.values())), read)], batch_size=500)
    _add_up(user_pk, [row.given_at for row in (*new, *changed, *gone)])


def _add_up(user_pk: int, given_at: Sequence[datetime]) -> None:
    """Store the sums of the days of these instants again."""
    days = sorted({at.astimezone(site_zone()).date() for at in given_at})
    for first in range(0, len(days), DAYS_TOGETHER):
        some = days[first : first + DAYS_TOGETHER]
        AdviceDay.objects.filter(user=user_pk, day__in=some).delete()
        AdviceDay.objects.bulk_create(days_of_advice(user_pk, some))


def _columns(outcome: Outcome, read: WorkRuns) -> dict[str, Any]:
    advice = outcome.advice
    return {
        "basis": read.bases[outcome.pk, advice.kind],
        "project_id": read.projects[outcome.pk],
        "given_at": advice.given_at,
        "dimensions": " ".join(outcome.dimensions),
        "claimed_gpu_hours": advice.claimed_gpu_hours,
        "first_job": outcome.first_pk,
        **{name: getattr(outcome, name) for name in OF_OUTCOME},
        "status": outcome.status.value,
    }


def _is_ready(month: date, now: datetime) -> bool:
    """Not while works wait for long: after an update their outcomes are not known yet."""
    waiting_since = AdviceDue.objects.aggregate(first=Min("noted_at"))["first"]
    return waiting_since is None or waiting_since >= now - WAITING_MAX


ADVICE = MonthKind(
    code="advice",
    title="the advice",
    after=SETTLED_AFTER,
    having=months_with_advice,
    is_ready=_is_ready,
    figures=lambda month, now: month_figures(given_between(month, next_month(month))),
)
"""How good the advice of a month was."""
