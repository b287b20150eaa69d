"""Writing judgements, one run at a time, claimed by its row, always safe to do again; and what people say of them."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

import msgspec
from django.db import transaction
from django.db.models import Manager, Model
from django.utils import timezone

from analysis.assess import Assessment
from analysis.findings import code_list
from analysis.models import Feedback, FindingRow, JobEfficiency, RecommendationRow
from analysis.selectors import EFFICIENCY_COLUMNS, due_jobs, fresh_assessment, is_judged, metrics_revision
from jobs.models import Job, User


def analyse_job(job_pk: int, now: datetime | None = None, *, is_forced: bool = True) -> bool:
    """Judge one run on its newest data; False when another worker holds it at this moment.

    Unless `is_forced`, a run that was judged on this data already (by a worker that was quicker) is left alone.
    """
    with transaction.atomic():
        job = (
            Job.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("user", "project")
            .filter(pk=job_pk)
            .first()
        )
        if job is None:
            return False
        # Read before the measurements: should more arrive between the two, the run is simply due again.
        revision = metrics_revision(job)
        if not is_forced and is_judged(job, revision):
            return False
        _save(job, fresh_assessment(job), revision, now or timezone.now())
    return True


def analyse_due(limit: int, now: datetime | None = None, since: datetime | None = None) -> int:
    """Judge up to `limit` runs that are due; how many were."""
    now = now or timezone.now()
    due = [job.pk for job in islice(due_jobs(now, since), limit)]
    return sum(analyse_job(job_pk, now, is_forced=False) for job_pk in due)


def _save(job: Job, judged: Assessment, metrics_revision: int, now: datetime) -> None:
    columns = {name: getattr(judged.efficiency, name) for name in EFFICIENCY_COLUMNS}
    before = JobEfficiency.objects.filter(job=job).first()
    row, _ = JobEfficiency.objects.update_or_create(
        job=job,
        defaults=columns
        | {
            "efficiency_class": judged.efficiency.efficiency_class.value,
            "savings": msgspec.to_builtins(judged.savings),
            "not_measured": list(judged.not_measured),
            "user": job.user,
            "project": job.project,
            "started_at": job.started_at,
            "ended_at": job.ended_at,
            "saved_gpu_hours": judged.savings.gpu_hours if judged.savings else None,
            "finding_codes": code_list(found.code for found in judged.findings),
            "rules_version": judged.rules_version,
            "revision": before.revision + 1 if before else 1,
            "job_revision": job.revision,
            "metrics_revision": metrics_revision,
            "analysed_at": now,
        },
    )
    _save_causes(row, judged)


def give_feedback(judged: JobEfficiency, user: User, *, code: str, is_right: bool, comment: str, now: datetime) -> None:
    """Keep what this person says of a finding, or of the class, in place of what they said before."""
    said = {"is_right": is_right, "comment": comment, "rules_version": judged.rules_version, "given_at": now}
    Feedback.objects.update_or_create(job=judged.job, user=user, code=code, defaults=said)


def withdraw_feedback(job: Job, user: User, code: str) -> None:
    """Forget what this person said of a finding of a run."""
    Feedback.objects.filter(job=job, user=user, code=code).delete()


def _save_causes(row: JobEfficiency, judged: Assessment) -> None:
    """The findings and recommendations of one judgement, each in its row.

    A cause that still holds keeps its row, and with it whatever people did with it; one that no longer holds goes.
    """
    _replace_rows(
        row.findings,
        "code",
        [
            FindingRow(
                efficiency=row,
                position=position,
                code=found.code.value,
                confidence=found.confidence,
                evidence=dict(found.evidence),
            )
            for position, found in enumerate(judged.findings)
        ],
    )
    _replace_rows(
        row.recommendations,
        "kind",
        [
            RecommendationRow(
                efficiency=row,
                position=position,
                kind=advice.kind.value,
                basis=advice.basis,
                recommended_gpus=advice.recommended_gpus,
                evidence=dict(advice.evidence),
                wanted=msgspec.to_builtins(advice.wanted),
                changes=msgspec.to_builtins(advice.changes),
                request=list(advice.request),
            )
            for position, advice in enumerate(judged.recommendations)
        ],
    )


def _replace_rows(stored: Manager, name: str, made: list[Model]) -> None:
    """`made` in place of what is stored; a row whose `name` is the same stays that row."""
    before = {getattr(row, name): row.pk for row in stored.all()}
    for row in made:
        row.pk = before.pop(getattr(row, name), None)
    if before:
        stored.filter(pk__in=before.values()).delete()
    stored.bulk_create(row for row in made if row.pk is None)
    if kept := [row for row in made if row.pk is not None]:
        columns = [field.name for field in kept[0]._meta.concrete_fields if not field.primary_key]
        stored.bulk_update(kept, columns)
