"""Writing judgements, one run at a time, claimed by its row, always safe to repeat; and people's answers about them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from django.db import transaction
from django.db.models import Model, OuterRef, Subquery
from django.utils import timezone

from analysis.assess import Assessment
from analysis.causes.progress import throughput_of
from analysis.causes.stalls import waits_of
from analysis.comments.services import note_comment
from analysis.exports.services import note_export
from analysis.facts import absent_nodes
from analysis.findings import code_list
from analysis.host_share import busy_cores, host_peak_gb
from analysis.marks.services import mark_position, mark_swept
from analysis.models import Feedback, FindingRow, JobEfficiency, RecommendationRow
from analysis.outcomes.services import note_work
from analysis.rollups.services import note_changed
from analysis.selectors import (
    CHANGES,
    EFFICIENCY_COLUMNS,
    JUDGEMENT,
    RULES,
    Due,
    changed_since,
    due_pages,
    fresh_assessment,
    is_judged_by_these_rules,
    judged_by_older_rules,
    metrics_revision,
    still_due,
)
from analysis.silence.services import note_nodes
from analysis.use_course import use_course
from analysis.waiting.services import note_idle
from jobs.experiments.selectors import logged_anything
from jobs.models import Job, User
from jobs.selectors import run_name
from jobs.tallies.kinds import END_TO_JUDGEMENT, JUDGEMENTS
from jobs.tallies.services import add, since_end
from jobs.work_queue.services import Work, attempt, attempt_by_hand, attempt_each, open_changed

LOOKED_AT_TOGETHER = 50
"""Judgements that a sweep with nothing else to do compares with the present rules."""


@dataclass(frozen=True)
class Judged:
    """A judgement that was just made, as stored and beside the facts it was made from."""

    row: JobEfficiency
    assessment: Assessment


def nothing_more(judged: Judged) -> None:
    """The default step after a judgement: nothing."""


def analyse_job(job_pk: int, now: datetime | None = None) -> bool:
    """Judge one run on its newest data, whether it is due or not; False when another worker holds it."""
    return judge(job_pk, now or timezone.now(), lambda job, revision: False) is not None


def analyse_again(job_pk: int) -> int:
    """Judge one run of many again, 1 or 0: failures are recorded, and what failed before waits for its next try."""
    now = timezone.now()
    return attempt(_judging_anew(now), job_pk, now)


def analyse_by_hand(job_pk: int) -> int:
    """Judge one run again, 1 or 0, however often that failed; raises WorkFailed where it fails."""
    now = timezone.now()
    return attempt_by_hand(_judging_anew(now), job_pk, now)


def _judging_anew(now: datetime) -> Work:
    return Work(JUDGEMENT, partial(analyse_job, now=now), name=run_name)


def judge(job_pk: int, now: datetime, is_done: Callable[[Job, int], bool]) -> Judged | None:
    """Judge one run on its newest data; None when another worker holds it, or where `is_done` for this data.

    A run whose use over time is no longer stored keeps its judgement, whatever changed.
    """
    judged = _judge(job_pk, now, is_done)
    # What people measure themselves does not describe the site's collectors.
    if judged is not None and not judged.row.is_told_by_owner:
        _follow_collectors(judged, now)
    return judged


def _judge(job_pk: int, now: datetime, is_done: Callable[[Job, int], bool]) -> Judged | None:
    with transaction.atomic():
        job = (
            Job.objects.select_for_update(skip_locked=True, of=("self",))
            .select_related("user", "project", "efficiency")
            .annotate(has_logged=logged_anything())
            .filter(pk=job_pk)
            .first()
        )
        if job is None:
            return None
        # Read before the measurements: should more arrive between the two, the run is simply due again.
        revision = metrics_revision(job)
        if is_done(job, revision):
            return None
        assessment = fresh_assessment(job)
        if assessment is None:
            JobEfficiency.objects.filter(job=job).update(job_revision=job.revision, metrics_revision=revision)
            return None
        missing = absent_nodes(assessment.facts.record, assessment.facts.nodes)
        row = _save(job, assessment, len(missing), revision, now)
        note_idle(row, assessment.facts, now)
        note_comment(job, assessment)
        return Judged(row, assessment)


def _follow_collectors(judged: Judged, now: datetime) -> None:
    """Store which nodes are silent, and count the first judgement of a run: its delay, and how many nodes it used.

    After the judgement is committed: rows of nodes belong to many runs, and no judgement waits for another.
    """
    row, facts = judged.row, judged.assessment.facts
    is_first = row.revision == 1
    heard = set(facts.nodes).difference(facts.own_nodes, facts.interim_nodes)
    note_nodes(row.job, absent_nodes(facts.record, heard), now, is_first=is_first)
    if not is_first:
        return
    nodes = "none" if not facts.nodes else "some" if row.missing_nodes else "all"
    add(JUDGEMENTS.of(nodes), since_end(END_TO_JUDGEMENT, row.ended_at))


def analyse_due(limit: int, now: datetime | None = None) -> int:
    """Judge up to `limit` of all runs that are due, however long ago they changed; how many were."""
    now = now or timezone.now()
    return attempt_each(_judging(now, nothing_more), _keys(due_pages(now), now), now, limit).done


def analyse_changed(limit: int, now: datetime | None = None, then: Callable[[Judged], None] = nothing_more) -> int:
    """Judge up to `limit` runs that changed since a sweep found nothing more to do; how many were.

    `then` is called for each once its judgement is committed. When there is nothing else, some of those that older
    rules judged are judged again.
    """
    now = now or timezone.now()
    judging = _judging(now, then)
    swept = attempt_each(judging, _keys(due_pages(now, changed_since()), now), now, limit)
    if swept.is_all:
        mark_swept(CHANGES, now)
    return swept.done or _judge_again(judging, now)


def _keys(pages: Iterable[list[Due]], now: datetime) -> Iterator[list[int]]:
    """The keys of these runs; what failed on older data than they have now is due at once."""
    for page in pages:
        changed_at = {job.pk: changed_at for job, changed_at in page}
        open_changed(JUDGEMENT, changed_at, now)
        yield list(changed_at)


def _judging(now: datetime, then: Callable[[Judged], None]) -> Work:
    def step(job_pk: int) -> bool:
        judged = judge(job_pk, now, is_judged_by_these_rules)
        if judged:
            then(judged)
        return judged is not None

    return Work(JUDGEMENT, step, still_due=partial(still_due, now=now), name=run_name)


def _judge_again(judging: Work, now: datetime) -> int:
    """Judge a few runs again that older rules judged, the newest first; each is checked once for these rules."""
    old, position = judged_by_older_rules(LOOKED_AT_TOGETHER)
    if position is None:
        return 0
    judged = attempt_each(judging, [old], now)
    if judged.is_all:
        mark_position(RULES, position)
    return judged.done


def _save(job: Job, judged: Assessment, missing_nodes: int, metrics_revision: int, now: datetime) -> JobEfficiency:
    """The judgement as it is stored; only the holder of the run's row lock writes it."""
    row = getattr(job, "efficiency", None) or JobEfficiency(job=job, revision=0)
    before = (row.user_id, row.project_id, row.ended_at) if row.pk else (job.user_id, job.project_id, None)
    facts, speed = judged.facts, throughput_of(judged.facts)
    columns = {name: getattr(judged.efficiency, name) for name in EFFICIENCY_COLUMNS} | {
        "efficiency_class": judged.efficiency.efficiency_class.value,
        "savings": msgspec.to_builtins(judged.savings),
        "not_measured": list(judged.not_measured),
        "user": job.user,
        "project": job.project,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
        "is_told_by_owner": job.is_told_by_owner,
        "work_key": job.work_key,
        "ended_early": facts.ended_early,
        "saved_gpu_hours": judged.savings.gpu_hours if judged.savings else None,
        "finding_codes": code_list(found.code for found in judged.findings),
        "missing_nodes": missing_nodes,
        "use_course": use_course(facts.series.util, facts.series.step_s, facts.elapsed_s),
        "busy_cores": busy_cores(facts),
        "host_peak_gb": host_peak_gb(facts),
        "io_wait_fraction": waits_of(facts).measured_io_fraction,
        "throughput_unit": speed.unit.value if speed else "",
        "throughput_per_s": speed.per_s if speed else None,
        "rules_version": judged.rules_version,
        "revision": row.revision + 1,
        "job_revision": job.revision,
        "metrics_revision": metrics_revision,
        "analysed_at": now,
    }
    for name, value in columns.items():
        setattr(row, name, value)
    row.save()
    _save_causes(row, judged)
    note_changed(now, before, (job.user_id, job.project_id, job.ended_at))
    note_work(job, now)
    note_export(row, now)
    return row


def copy_work_keys(job_pks: Sequence[int]) -> None:
    """Give the judgements of these runs the work keys that the runs have now."""
    key = Job.objects.filter(pk=OuterRef("job_id")).values("work_key")
    JobEfficiency.objects.filter(job__in=job_pks).update(work_key=Subquery(key))


def give_feedback(judged: JobEfficiency, user: User, *, code: str, is_right: bool, comment: str, now: datetime) -> None:
    """Store this person's answer about a finding, or about the class, in place of an earlier one."""
    said = {"is_right": is_right, "comment": comment, "rules_version": judged.rules_version, "given_at": now}
    Feedback.objects.update_or_create(job=judged.job, user=user, code=code, defaults=said)


def withdraw_feedback(job: Job, user: User, code: str) -> None:
    """Delete this person's answer about a finding of a run."""
    Feedback.objects.filter(job=job, user=user, code=code).delete()


def _save_causes(row: JobEfficiency, judged: Assessment) -> None:
    """The findings and recommendations of one judgement, each in its row.

    A cause that is found again keeps its row and what people did with it; the others are deleted.
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


def _replace_rows(stored: Any, name: str, made: Sequence[Model]) -> None:
    """`made` in place of what is stored; a row whose `name` is the same stays that row."""
    is_first = stored.instance.revision == 1
    before = {} if is_first else {getattr(row, name): row.pk for row in stored.all()}
    for row in made:
        row.pk = before.pop(getattr(row, name), None)
    if before:
        stored.filter(pk__in=before.values()).delete()
    stored.bulk_create(row for row in made if row.pk is None)
    if kept := [row for row in made if row.pk is not None]:
        columns = [field.name for field in kept[0]._meta.concrete_fields if not field.primary_key]
        stored.bulk_update(kept, columns)
