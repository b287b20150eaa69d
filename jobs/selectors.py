"""Reading jobs; a `Reach` and the `visible_jobs` within it are the only way to read anyone's job data."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from jobs.models import Job, JobOpening, JobShare, Membership, Project, ProjectAllocation, User
from jobs.records import ENDED_STATES, JobRecord
from jobs.work_key import normalised_name, work_key

LATEST_MAX = 200
RECORD_COLUMNS = tuple(
    name for name in JobRecord.__struct_fields__ if name not in {"schema", "user_id", "project_id", "nodes"}
)


BY_SITE = Q(is_told_by_owner=False)
"""Runs, or judgements of runs, with a record from Slurm: only they enter sums over several people."""


def run_name(job_pk: int) -> str:
    """The name of a run, for the log."""
    return str(Job.objects.only("cluster", "job_id", "attempt").get(pk=job_pk))


def project_name(project_pk: int) -> str:
    """The name of a project, for the log."""
    return Project.objects.get(pk=project_pk).name


@dataclass(frozen=True)
class Reach:
    """Whose jobs a person sees: their own, and those of the projects they are PI of; nobody sees more, not even staff.

    Stated as conditions on the columns `user` and `project` of any table that has them. The projects are read first: as
    a subquery they would keep PostgreSQL from using the indexes of both columns. `has_other_jobs` is whether they have
    own jobs in projects that they do not lead; without, one condition less is looked up everywhere.
    """

    user_id: int
    led: tuple[int, ...]
    has_other_jobs: bool = True

    @property
    def all(self) -> Q:
        """Every visible job."""
        return self.own | Q(project__in=self.led)

    @property
    def own(self) -> Q:
        """The jobs of this person alone."""
        return Q(user=self.user_id)

    def parts(self, table: str = "") -> tuple[Q, ...]:
        """Every visible job in parts that do not overlap, each of which one index finds.

        `table` is the path from the queried rows to the two columns, for example "efficiency__".
        """
        own, led = Q(**{f"{table}user": self.user_id}), Q(**{f"{table}project__in": self.led})
        if not self.led:
            return (own,)
        return (own & ~led, led) if self.has_other_jobs else (led,)

    def sorted_parts(self, table: str = "") -> tuple[Q, ...]:
        """Every visible job in parts that an index has in their order; own runs in led projects are in two of them."""
        own = (Q(**{f"{table}user": self.user_id}),) if self.has_other_jobs or not self.led else ()
        return (*own, *(Q(**{f"{table}project": project}) for project in self.led))

    def of_project(self, project: int, table: str = "") -> Q:
        """The visible jobs of one project."""
        whole = Q(**{f"{table}project": project})
        return whole if project in self.led else Q(**{f"{table}user": self.user_id}) & whole

    def of_owner(self, owner: int, table: str = "") -> Q:
        """What is visible of one person's jobs; all of them only to that person."""
        whole = Q(**{f"{table}user": owner})
        return whole if owner == self.user_id else whole & Q(**{f"{table}project__in": self.led})


def reach_of(user: User) -> Reach:
    """Whose jobs this person sees now."""
    led = tuple(led_projects(user).values_list("pk", flat=True))
    return Reach(user.pk, led, has_other_jobs=not led or _has_jobs_outside(user.pk, sorted(led)))


def _has_jobs_outside(user_pk: int, led: Sequence[int]) -> bool:
    """Whether this person has jobs in other projects: one look at an index between each two of these keys."""
    own = Job.objects.filter(user=user_pk).order_by("user", "project")
    gaps = (own.filter(project__gt=one, project__lt=other) for one, other in pairwise(led))
    outside = (own.filter(project__lt=led[0]), own.filter(project__gt=led[-1]), *gaps)
    return Job.objects.filter(pk__in=keys_of_any(jobs[:1] for jobs in outside)).exists()


def visible_jobs(user: User) -> QuerySet[Job]:
    """The jobs that this person sees, as defined by `Reach`."""
    return jobs_within(reach_of(user))


def jobs_within(reach: Reach) -> QuerySet[Job]:
    """The same where the reach is known already."""
    return Job.objects.filter(reach.all).select_related("user", "project")


@dataclass(frozen=True)
class LatestFirst:
    """The visible jobs for a paginator: their number, and a slice of them, the latest first."""

    reach: Reach
    ordered = True

    def count(self) -> int:
        return sum(Job.objects.filter(part).count() for part in self.reach.parts())

    def __getitem__(self, stretch: slice) -> QuerySet[Job]:
        jobs = jobs_within(self.reach).filter(pk__in=_latest_keys(self.reach, max(stretch.stop, 1)))
        return jobs.select_related("efficiency").order_by("-ended_at", "-pk")[stretch]


def reached_projects(reach: Reach) -> QuerySet[Project]:
    """The projects that have a visible job, and those that this person leads, by name."""
    has_own = Exists(Job.objects.filter(user=reach.user_id, project=OuterRef("pk")))
    return Project.objects.filter(Q(pk__in=reach.led) | has_own).order_by("name")


def latest_partitions(reach: Reach) -> set[tuple[str, str]]:
    """(Cluster, partition) of the latest visible jobs, of each led project and one's own."""
    latest = Job.objects.filter(pk__in=_latest_keys(reach, LATEST_MAX))
    return set(latest.values_list("cluster", "partition").distinct())


def _latest_keys(reach: Reach, limit: int) -> RawSQL:
    """The latest so many jobs of each led project, and of one's own."""
    newest = Job.objects.order_by("-ended_at", "-pk")
    return keys_of_any(newest.filter(part)[:limit] for part in reach.sorted_parts())


def keys_of_any(jobs: Iterable[QuerySet[Any]]) -> RawSQL:
    """The keys that any of these sliced queries finds, for `pk__in`: each follows an index and stops.

    With the same conditions in one OR the database would sort every job that any of them matches; SQLite accepts no
    slices in Django's own union.
    """
    compiled = [rows.values("pk").query.sql_with_params() for rows in jobs]
    parts = (f"SELECT * FROM ({sql}) AS part{place}" for place, (sql, _) in enumerate(compiled))  # noqa: S608 (Django's)
    return RawSQL(" UNION ALL ".join(parts), [value for _, values in compiled for value in values])  # noqa: S611


def shared_jobs(user: User, now: datetime) -> QuerySet[Job]:
    """The jobs that their owners currently share with support; none for anyone who is not support staff.

    They are opened one by one and are in no list, sum or export of `visible_jobs`.
    """
    if not user.is_staff:
        return Job.objects.none()
    return Job.objects.filter(pk__in=open_shares(now).values("job")).select_related("user", "project")


def open_shares(now: datetime) -> QuerySet[JobShare]:
    """The shares that are valid now, the latest first."""
    held = JobShare.objects.filter(revoked_at__isnull=True, expires_at__gt=now)
    return held.select_related("job__user", "job__project").order_by("-shared_at", "-pk")


def shares_of(job: Job) -> QuerySet[JobShare]:
    """Every share of a run that its owner ever created, the latest first."""
    return JobShare.objects.filter(job=job).order_by("-shared_at", "-pk")


def openings_of(job: Job) -> QuerySet[JobOpening]:
    """Who viewed a run other than its owner, the latest first."""
    return JobOpening.objects.filter(job=job).select_related("user").order_by("-last_at", "-pk")


def led_projects(user: User) -> QuerySet[Project]:
    """The projects this person is PI of."""
    return Project.objects.filter(memberships__user=user, memberships__role=Membership.Role.PI)


def linked_user(subject: str) -> User | None:
    """The account that this identity may sign in as, if a directory linked them and the account is active."""
    return User.objects.filter(oidc_subject=subject, is_active=True).first()


def led_owners(reach: Reach) -> QuerySet[User]:
    """The members of the projects that this person leads, by name; nobody where they lead none."""
    members = Membership.objects.filter(project__in=reach.led).values("user")
    return User.objects.filter(pk__in=members).order_by("username")


def own_projects(user: User) -> QuerySet[Project]:
    """The projects this person belongs to, by name."""
    return Project.objects.filter(memberships__user=user).order_by("name")


def works_named(user: User, job_name: str, clusters: Iterable[str]) -> dict[str, tuple[str, Project]]:
    """(Cluster, project) by the key of the work that a run of this name would belong to, for each project in which this
    person has run jobs or is a member; empty for a name without a meaning: one query."""
    has_run = Exists(Job.objects.filter(user=user, project=OuterRef("pk")))
    is_member = Exists(Membership.objects.filter(user=user, project=OuterRef("pk")))
    secret, named = settings.WORK_KEY_SECRET.encode(), normalised_name(job_name)
    projects = Project.objects.filter(has_run | is_member).order_by("name") if named else ()
    return {
        work_key(secret, cluster, user.username, project.name, job_name): (cluster, project)
        for project in projects
        for cluster in clusters
    }


def latest_own_run(user: User, works: Collection[str] | None = None) -> Job | None:
    """The own run that ended last, of these works if any are named; None where there is none: one query."""
    runs = Job.objects.filter(user=user, state__in=ENDED_STATES, ended_at__isnull=False)
    runs = runs if works is None else runs.filter(work_key__in=works)
    return runs.select_related("user", "project").order_by("-ended_at", "-pk").first()


def own_memberships(user: User) -> QuerySet[Membership]:
    """This person's projects with the role in each, by name."""
    return Membership.objects.filter(user=user).select_related("project").order_by("project__name")


def allocations_of(projects: Iterable[Project]) -> dict[int, ProjectAllocation]:
    """The GPU-hours of each project: of several directories the one that counts the use, then the latest read."""
    rows = ProjectAllocation.objects.filter(project__in=projects).order_by("read_at", "pk")
    return {row.project_id: row for row in sorted(rows, key=lambda row: row.used_gpu_hours is not None)}


def job_runs(job_id: int, cluster: str | None = None) -> QuerySet[Job]:
    """All runs of a job id, the latest attempt first: for operators' commands, not for pages."""
    runs = Job.objects.filter(job_id=job_id).select_related("user", "project").order_by("cluster", "-attempt")
    return runs.filter(cluster=cluster) if cluster else runs


def counted_senders(job: Job) -> tuple[str, ...]:
    """Whose measurements count for this run (`metrics.models.NodeSummary.sent_by`).

    Those of the site's collectors and of its owner. While only the owner has reported the run, what the site measured
    under its number is not shown to them: it may belong to somebody else.
    """
    owner = job.user.username
    return (owner,) if job.is_told_by_owner else ("", owner)


def record_of(job: Job) -> JobRecord:
    """The stored run as the value it was sent as."""
    columns = {name: getattr(job, name) for name in RECORD_COLUMNS}
    return JobRecord(user_id=job.user.username, project_id=job.project.name, nodes=tuple(job.nodes), **columns)
