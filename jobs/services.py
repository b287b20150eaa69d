"""Writing jobs: the record of a run from the epilog or from sacct, idempotent and never less than before."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from jobs.models import Job, Membership, Project, User
from jobs.records import JobRecord
from jobs.selectors import RECORD_COLUMNS


class RecordConflict(ValueError):
    """A record contradicts the stored run of the same key; `problems` are `(path, message)`."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{path} {message}" for path, message in problems))
        self.problems = problems


def record_job(record: JobRecord, now: datetime | None = None) -> bool:
    """Store one run; True when it brought something new.

    A later record of the same run fills and corrects columns, and never empties one: the epilog knows the request's
    spelling, sacct the final state, in whichever order they come. Owner and project of a run never change, or a
    record could show one person's job to another: RecordConflict.
    """
    with transaction.atomic():
        user = _account(User.objects, username=record.user_id)
        project = _account(Project.objects, name=record.project_id)
        Membership.objects.get_or_create(user=user, project=project)
        columns = {name: getattr(record, name) for name in RECORD_COLUMNS} | {"nodes": list(record.nodes)}
        key = {name: columns.pop(name) for name in ("cluster", "job_id", "attempt")}
        stored, is_new = Job.objects.select_for_update().get_or_create(
            **key, defaults=columns | {"user": user, "project": project, "changed_at": now or timezone.now()}
        )
        if is_new:
            return True
        _refuse_other_owner(stored, user, project)
        return _update(stored, columns, now or timezone.now())


def set_role(user: User, project: Project, role: Membership.Role) -> None:
    """Give a person a role in a project, replacing the one before."""
    Membership.objects.update_or_create(user=user, project=project, defaults={"role": role})


def _account(manager, **name):
    """The user or project of that name, made when first seen; a new user cannot sign in by password."""
    account, is_new = manager.get_or_create(**name)
    if is_new and isinstance(account, User):
        account.set_unusable_password()
        account.save(update_fields=["password"])
    return account


def _refuse_other_owner(stored: Job, user: User, project: Project) -> None:
    problems = []
    if stored.user_id != user.pk:
        problems.append(("user_id", "differs from the stored run of this job"))
    if stored.project_id != project.pk:
        problems.append(("project_id", "differs from the stored run of this job"))
    if problems:
        raise RecordConflict(problems)


def _update(stored: Job, columns: dict[str, object], now: datetime) -> bool:
    """Take over every column that says something else; an empty value says nothing."""
    says_nothing = (None, "", [], {})
    changed = [name for name, value in columns.items() if value not in says_nothing and value != getattr(stored, name)]
    if not changed:
        return False
    for name in changed:
        setattr(stored, name, columns[name])
    stored.revision += 1
    stored.changed_at = now
    stored.save(update_fields=[*changed, "revision", "changed_at"])
    return True
