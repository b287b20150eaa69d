"""Reading jobs; `visible_jobs` is the only door to anyone's job data."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet

from jobs.models import Job, Membership, Project, User
from jobs.records import JobRecord

RECORD_COLUMNS = tuple(
    name for name in JobRecord.__struct_fields__ if name not in {"schema", "user_id", "project_id", "nodes"}
)


def visible_jobs(user: User) -> QuerySet[Job]:
    """The jobs this person owns, and those of the projects this person is PI of; nobody sees more, staff included.

    The projects are read first: as a subquery they would keep PostgreSQL from using the indexes of both columns.
    """
    led = list(led_projects(user).values_list("pk", flat=True))
    return Job.objects.filter(Q(user=user) | Q(project__in=led)).select_related("user", "project")


def led_projects(user: User) -> QuerySet[Project]:
    """The projects this person is PI of."""
    return Project.objects.filter(memberships__user=user, memberships__role=Membership.Role.PI)


def linked_user(subject: str) -> User | None:
    """The account that this identity may sign in as, if a directory linked them and the account is active."""
    return User.objects.filter(oidc_subject=subject, is_active=True).first()


def own_projects(user: User) -> QuerySet[Project]:
    """The projects this person belongs to, by name."""
    return Project.objects.filter(memberships__user=user).order_by("name")


def own_memberships(user: User) -> QuerySet[Membership]:
    """This person's projects with the role in each, by name."""
    return Membership.objects.filter(user=user).select_related("project").order_by("project__name")


def job_runs(job_id: int, cluster: str | None = None) -> QuerySet[Job]:
    """All runs of a job id, the latest attempt first: for operators' commands, not for pages."""
    runs = Job.objects.filter(job_id=job_id).select_related("user", "project").order_by("cluster", "-attempt")
    return runs.filter(cluster=cluster) if cluster else runs


def changed_since(since: datetime) -> QuerySet[Job]:
    """Runs whose record changed at or after `since`."""
    return Job.objects.filter(changed_at__gte=since)


def record_of(job: Job) -> JobRecord:
    """The stored run as the value it came as."""
    columns = {name: getattr(job, name) for name in RECORD_COLUMNS}
    return JobRecord(user_id=job.user.username, project_id=job.project.name, nodes=tuple(job.nodes), **columns)
