"""Storing one run of a job: Slurm's record fills and corrects it, and later runs of the same work are updated."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q

from jobs.models import Job, Project, User
from jobs.records import ENDED_STATES, JobRecord
from jobs.selectors import RECORD_COLUMNS
from jobs.work_key import work_key

LATER_RUNS_MAX = 20
"""How many earlier runs a run is compared with (`analysis.selectors.COMPARABLE_MAX`), so how many later ones change."""

INSERTED_TOGETHER = 100
KEY_COLUMNS = ("cluster", "job_id", "attempt")

SAYS_NOTHING: tuple[object, ...] = (None, "", [], {})
GO_TOGETHER = {"state": "exit_code", "ended_at": "walltime_used_s", "nodes": "node_count"}
"""Columns that come from the same source: a source's first is never combined with another source's second."""

Seen = tuple[str, datetime, int | None, float | None]


class RecordConflict(ValueError):
    """A record contradicts the stored run of the same key; `problems` are `(path, message)`."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path} {message}" for path, message in problems))
        self.problems = problems


def record_run(record: JobRecord, user: User, project: Project, now: datetime) -> bool:
    """Store the site's record of a run, within a transaction of the caller; True when it contained something new."""
    _forget_claims(record, user, project, now)
    stored, is_new = locked_run(record, user, project, now)
    if stored.is_told_by_owner and (stored.user_id, stored.project_id) != (user.pk, project.pk):
        # Claimed since the check above; now the row is locked by us, so nobody else can claim it.
        _forget_claims(record, user, project, now)
        stored, is_new = locked_run(record, user, project, now)
    if is_new:
        return True
    _refuse_other_owner(stored, user, project)
    columns = run_columns(record)
    said = {name: value for name, value in columns.items() if value not in SAYS_NOTHING}
    if stored.is_told_by_owner:
        said |= {other: columns[other] for name, other in GO_TOGETHER.items() if name in said}
        said["is_told_by_owner"] = False
    return change_run(stored, said, now)


def known_or_new(records: Sequence[JobRecord]) -> list[bool | None]:
    """True for each run that is not stored yet, False where the record adds nothing to a stored one.

    None for all others, which need `record_run`: those that change a run, are here twice, or are claimed by an owner.
    """
    known = _known(records)
    times_told = Counter(record.key for record in records)
    told: list[bool | None] = []
    for record in records:
        runs = known.get((record.cluster, record.job_id), {})
        stored = runs.get(record.attempt)
        if times_told[record.key] > 1 or any(run.is_told_by_owner for run in runs.values()):
            told.append(None)
        elif stored is None:
            told.append(True)
        else:
            told.append(False if _says_nothing_new(record, stored) else None)
    return told


def make_runs(records: Sequence[JobRecord], people: Sequence[tuple[User, Project]], now: datetime) -> bool:
    """Store new runs, each with its owner and project; False, and nothing stored, where one has just been created."""
    runs = [
        Job(**_key(record), **_new_columns(record, *whose, now)) for record, whose in zip(records, people, strict=True)
    ]
    try:
        with transaction.atomic():
            Job.objects.bulk_create(runs, batch_size=INSERTED_TOGETHER)
    except IntegrityError:
        return False
    # Most runs arrive in the order of their ends: no later run was compared without them.
    keys = {run.work_key for run in runs if run.work_key}
    made = [run.pk for run in runs]
    others = Job.objects.filter(work_key__in=keys, ended_at__isnull=False).exclude(pk__in=made)
    latest = dict(others.values_list("work_key").annotate(Max("ended_at")))
    for run in runs:
        if run.ended_at is not None and run.work_key in latest and run.ended_at < latest[run.work_key]:
            _touch_later_runs(made, None, _seen_by_later_runs(run), now)
    return True


def _known(records: Sequence[JobRecord]) -> dict[tuple[str, int], dict[int, Job]]:
    """The stored runs of these jobs, by cluster and job and then by attempt."""
    known: dict[tuple[str, int], dict[int, Job]] = {}
    for cluster in {record.cluster for record in records}:
        job_ids = {record.job_id for record in records if record.cluster == cluster}
        for run in Job.objects.filter(cluster=cluster, job_id__in=job_ids).select_related("user", "project"):
            known.setdefault((cluster, run.job_id), {})[run.attempt] = run
    return known


def _says_nothing_new(record: JobRecord, stored: Job) -> bool:
    if (stored.user.username, stored.project.name) != (record.user_id, record.project_id):
        return False
    said = {name: value for name, value in run_columns(record).items() if value not in SAYS_NOTHING}
    work = key_of_work(stored.cluster, stored.user, stored.project, stored.job_name, stored.script_key)
    return stored.work_key == work and all(value == getattr(stored, name) for name, value in said.items())


def locked_run(
    record: JobRecord, user: User, project: Project, now: datetime, *, is_told_by_owner: bool = False
) -> tuple[Job, bool]:
    """The run of this record, locked, and whether it was created from the record."""
    columns = _new_columns(record, user, project, now) | {"is_told_by_owner": is_told_by_owner}
    stored, is_new = Job.objects.select_for_update().get_or_create(**_key(record), defaults=columns)
    if is_new:
        _touch_later_runs([stored.pk], None, _seen_by_later_runs(stored), now)
    return stored, is_new


def _key(record: JobRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in KEY_COLUMNS}


def _new_columns(record: JobRecord, user: User, project: Project, now: datetime) -> dict[str, Any]:
    work = key_of_work(record.cluster, user, project, record.job_name, record.script_key)
    return run_columns(record) | {"user": user, "project": project, "work_key": work, "changed_at": now}


def run_columns(record: JobRecord) -> dict[str, object]:
    """The columns of a run other than its key and its owner."""
    names = [name for name in RECORD_COLUMNS if name not in KEY_COLUMNS]
    return {name: getattr(record, name) for name in names} | {"nodes": list(record.nodes)}


def change_run(stored: Job, said: dict[str, object], now: datetime) -> bool:
    """Update every column that differs, and what follows from them; False when none does."""
    before = _seen_by_later_runs(stored)
    name, script_key = (said.get(column, getattr(stored, column)) for column in ("job_name", "script_key"))
    said = said | {"work_key": key_of_work(stored.cluster, stored.user, stored.project, str(name), str(script_key))}
    changed = [name for name, value in said.items() if value != getattr(stored, name)]
    if not changed:
        return False
    for name in changed:
        setattr(stored, name, said[name])
    stored.revision += 1
    stored.changed_at = now
    stored.save(update_fields=[*changed, "revision", "changed_at"])
    _touch_later_runs([stored.pk], before, _seen_by_later_runs(stored), now)
    return True


def touch_ended_runs(job_pks: Sequence[int], now: datetime) -> None:
    """Raise the revision of those of these runs that have ended: something else became known of them.

    Locked in the order of their keys, within a transaction of the caller.
    """
    ended = Job.objects.filter(pk__in=job_pks, state__in=ENDED_STATES).order_by("pk").select_for_update()
    touched = list(ended.values_list("pk", flat=True))
    if touched:
        Job.objects.filter(pk__in=touched).update(revision=F("revision") + 1, changed_at=now)


def key_of_work(cluster: str, user: User, project: Project, job_name: str, script_key: str) -> str:
    """The key of the work that a run belongs to, under the secret of this site."""
    secret = settings.WORK_KEY_SECRET.encode()
    return work_key(secret, cluster, user.username, project.name, job_name, script_key)


def _forget_claims(record: JobRecord, user: User, project: Project, now: datetime) -> None:
    """Remove what only an owner reported of this job where the site's record names another owner or project.

    The whole row is deleted, with every judgement and report: nothing derived from one person's measurements may
    stay with a run of another. A job id has one owner over all its attempts.
    """
    told = Job.objects.filter(cluster=record.cluster, job_id=record.job_id, is_told_by_owner=True)
    false = told.filter(~Q(user=user) | Q(attempt=record.attempt) & ~Q(project=project))
    for claim in false.order_by("pk").select_for_update():
        pk, before = claim.pk, _seen_by_later_runs(claim)
        claim.delete()
        _touch_later_runs([pk], before, None, now)


def _refuse_other_owner(stored: Job, user: User, project: Project) -> None:
    differs = {"user_id": stored.user_id != user.pk, "project_id": stored.project_id != project.pk}
    problems = [(path, "differs from the stored run of this job") for path, is_so in differs.items() if is_so]
    if problems:
        raise RecordConflict(problems)


def _seen_by_later_runs(job: Job) -> Seen | None:
    """The values that comparisons with this run read; None while nothing is compared with it."""
    if job.state != "COMPLETED" or not job.work_key or job.ended_at is None:
        return None
    return job.work_key, job.ended_at, job.gpus_allocated, job.walltime_used_s


def _touch_later_runs(besides: list[int], before: Seen | None, after: Seen | None, now: datetime) -> None:
    """Raise the revision of the next runs of the same work, so that they are judged again with this run.

    `besides` are left out: the run itself, and runs created together with it. Only a record from outside causes this,
    never a judgement: one run changes `LATER_RUNS_MAX` others (twice that when it moves in time or to
    another work), and those change none. Rows are locked in the order of their ends, so that two records of one work
    never wait for each other.
    """
    if before == after:
        return
    touched: set[int] = set()
    for key, ended_at in sorted({seen[:2] for seen in (before, after) if seen}):
        later = (
            Job.objects.filter(work_key=key, ended_at__gt=ended_at).exclude(pk__in=besides).order_by("ended_at", "pk")
        )
        touched.update(later.select_for_update().values_list("pk", flat=True)[:LATER_RUNS_MAX])
    if touched:
        Job.objects.filter(pk__in=touched).update(revision=F("revision") + 1, changed_at=now)
