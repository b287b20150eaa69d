"""Storing runs that only their owner reports, with a sending token; the site's record never changes by it."""

from datetime import datetime

import msgspec

from jobs.models import Job, Membership, Project, User
from jobs.own_runs.rules import checked, merged, personal_project
from jobs.records import JobRecord
from jobs.runs.services import SAYS_NOTHING, RecordConflict, change_run, locked_run, run_columns
from jobs.selectors import own_projects, record_of

NOT_YOURS = "this job belongs to another user"
NOT_A_MEMBER = (
    "you are not a member of this project in Kaiku; an import of your projects or a job record of the site adds you,"
    " and without project_id the run is stored in your personal project"
)
NAME_LENGTH_MAX = 64
"""The longest name of a project (`jobs.records.Slug`)."""


def own_run(sender: User, cluster: str, job_id: int, attempt: int) -> Job | None:
    """The stored run of this key, None while there is none.

    Raises RecordConflict when it is another person's, or another attempt of the job is, without naming them.
    """
    runs = Job.objects.filter(cluster=cluster, job_id=job_id)
    if runs.exclude(user=sender).exists():
        raise RecordConflict([("job_id", NOT_YOURS)])
    return runs.filter(attempt=attempt).select_related("user", "project").first()


def project_for_own_run(sender: User, wanted: str) -> Project:
    """The reported project of a run, of which the sender must be a member; by default their personal one."""
    if wanted and wanted != personal_project(sender.username):
        project = own_projects(sender).filter(name=wanted).first()
        if project is None:
            raise RecordConflict([("project_id", NOT_A_MEMBER)])
        return project
    return _personal_project(sender)


def tell_run(record: JobRecord, sender: User, project: Project, now: datetime) -> None:
    """Create the run that its owner reports, or extend it by what another node reports; the site's data stays.

    Within a transaction of the caller. Raises RecordConflict when somebody else was first, or when the two nodes
    contradict each other.
    """
    stored, is_new = locked_run(record, sender, project, now, is_told_by_owner=True)
    if stored.user_id != sender.pk:
        raise RecordConflict([("job_id", NOT_YOURS)])
    if is_new or not stored.is_told_by_owner:
        return
    try:
        together = checked(merged(record_of(stored), record))
    except msgspec.ValidationError as error:
        raise RecordConflict([("job_id", f"cannot be one run with its other nodes: {error}")]) from error
    said = {name: value for name, value in run_columns(together).items() if value not in SAYS_NOTHING}
    change_run(stored, said, now)


def _personal_project(sender: User) -> Project:
    """The project that only this person is in; RecordConflict where it cannot be made or somebody else is in it."""
    name = personal_project(sender.username)
    if len(name) > NAME_LENGTH_MAX:
        raise RecordConflict([("project_id", f"required: {name[:NAME_LENGTH_MAX]}… is too long for a project name")])
    project, _ = Project.objects.get_or_create(name=name)
    if project.is_listed or project.memberships.exclude(user=sender).exists():
        raise RecordConflict([("project_id", f"required: {name} is not your personal project")])
    Membership.objects.get_or_create(user=sender, project=project)
    return project
