"""Writing jobs and people: the record of a run, idempotent and without losing data; roles, shares, sessions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from jobs.audit.services import (
    BY_PROVIDER,
    Action,
    Actor,
    Change,
    Kind,
    by_directory,
    by_person,
    record_change,
    record_changes,
    record_memberships,
)
from jobs.directory import Directory, outranking
from jobs.models import Grant, Job, JobOpening, JobShare, ListedMembership, Membership, Project, ProjectAllocation, User
from jobs.records import JobRecord
from jobs.runs.services import key_of_work, known_or_new, make_runs, record_run
from jobs.selectors import open_shares

SIGN_IN = "sign-in"
SAME_OPENING = timedelta(minutes=10)
"""Opening a page with its figures and downloads counts as one view."""

# A source that loses more than this share of its memberships at once, and at least so many, is considered broken.
SHRINK_FRACTION_MAX, SHRINK_LEAST = 0.5, 20
ENDED_NAMED_MAX = 50


class DirectoryShrunk(ValueError):
    """A directory lists so few memberships, or so few administrators, that it is probably broken."""


@dataclass(frozen=True)
class DirectoryChange:
    """What an import found and changed, in numbers of rows; `ended_names` are the first memberships that ended."""

    projects: int
    memberships: int
    began: int
    ended: int
    relinked: int
    roles_began: int
    roles_ended: int
    ended_names: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Replaced:
    """How many memberships of a source began and ended, the names of the first that did, and in which projects."""

    began: int
    ended: int
    ended_names: tuple[str, ...]
    projects: set[int]


def record_job(record: JobRecord, now: datetime | None = None) -> bool:
    """Store one run; True when it contained something new.

    A later record of the same run fills and corrects columns, and never empties one: the epilog knows the request's
    spelling, sacct the final state, in whichever order they arrive. Owner and project of a run never change, or a
    record could show one person's job to another: RecordConflict. Data that only its owner reported is replaced. The
    work that the run belongs to is determined again each time, and later runs of it that are compared with this one
    count as changed too.
    """
    now = now or timezone.now()
    with transaction.atomic():
        users, projects = people_and_projects({record.user_id}, {record.project_id})
        user, project = users[record.user_id], projects[record.project_id]
        if not project.is_listed:
            Membership.objects.get_or_create(user=user, project=project)
        return record_run(record, user, project, now)


def record_jobs(records: Sequence[JobRecord], now: datetime | None = None) -> list[bool | None]:
    """Store many runs in a few statements, as `record_job` does; True for the new ones, False for what is known.

    None for those that have to be stored one by one, which are not stored here: what changes a run or comes twice, and
    runs that other workers are storing.
    """
    told = known_or_new(records)
    new = [record for record, is_new in zip(records, told, strict=True) if is_new]
    with transaction.atomic():
        users, projects = people_and_projects({each.user_id for each in new}, {each.project_id for each in new})
        people = [(users[record.user_id], projects[record.project_id]) for record in new]
        if not make_runs(new, people, now or timezone.now()):
            return [None if is_new else is_new for is_new in told]
        joined = {(user.pk, project.pk) for user, project in people if not project.is_listed}
        Membership.objects.bulk_create(
            (Membership(user_id=user, project_id=project) for user, project in sorted(joined)), ignore_conflicts=True
        )
    return told


def people_and_projects(usernames: set[str], projects: set[str]) -> tuple[dict[str, User], dict[str, Project]]:
    """The accounts of these names, created where they are new; nobody becomes a member of a project by this."""
    return _named(User, "username", usernames), _named(Project, "name", projects)


def fill_work_keys(rows: Sequence[Job]) -> int:
    """Set the current key of their work on these runs; how many changed. Judgements are not changed."""
    changed = []
    for job in rows:
        key = key_of_work(job.cluster, job.user, job.project, job.job_name, job.script_key)
        if key != job.work_key:
            job.work_key = key
            changed.append(job)
    Job.objects.bulk_update(changed, ["work_key"], batch_size=500)
    return len(changed)


def end_sessions(user: User, by: Actor | None = None) -> None:
    """Sign a person out of every browser, at each one's next request; `by` names another actor for the audit log."""
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        if by is not None:
            record_change(by, Action.SESSIONS_ENDED, Kind.ACCOUNT, user.username)


def share_job(job: Job, *, days: int, note: str, now: datetime) -> JobShare:
    """Let support staff view a run for so many days; a share that is still valid ends, and is kept as the log of it."""
    with transaction.atomic():
        end_shares(job, now)
        record_change(by_person(job.user), Action.JOB_SHARED, Kind.JOB, job, f"for {days} days")
        return JobShare.objects.create(job=job, note=note, shared_at=now, expires_at=now + timedelta(days=days))


def end_shares(job: Job, now: datetime) -> None:
    """End every valid share of a run: support staff cannot see it from now on."""
    with transaction.atomic():
        if open_shares(now).filter(job=job).update(revoked_at=now):
            record_change(by_person(job.user), Action.SHARE_ENDED, Kind.JOB, job)


def record_opening(job: Job, user: User, role: JobOpening.Role, now: datetime) -> None:
    """Record for the owner that somebody else viewed a run; requests close together are one view."""
    opening, is_first = JobOpening.objects.get_or_create(
        job=job, user=user, role=role, defaults={"first_at": now, "last_at": now}
    )
    if not is_first:
        is_later = JobOpening.objects.filter(pk=opening.pk, last_at__lt=now - SAME_OPENING)
        is_later.update(last_at=now, times=F("times") + 1)


def record_sign_in(user: User, *, email: str, roles: Iterable[str] | None) -> None:
    """Store what the provider sent at a sign-in: the address, and the portal roles of its groups if it has any."""
    if email and user.email != email:
        User.objects.filter(pk=user.pk).update(email=email)
    if roles is not None:
        with transaction.atomic():
            wanted = {(user.pk, role) for role in roles}
            replace_grants(SIGN_IN, wanted, Grant.objects.filter(user=user), by=BY_PROVIDER)


@transaction.atomic
def replace_grants(
    source: str, wanted: set[tuple[int, str]], scope: QuerySet[Grant] | None = None, *, by: Actor | None = None
) -> tuple[int, int]:
    """Make `(user, role)` the only grants of a source; staff and superuser follow from the grants of all sources.

    `by` is who did it where that is not the source, a directory, itself. Returns how many grants began and ended.
    """
    known = (Grant.objects.all() if scope is None else scope).filter(source=source)
    rows = {(row.user_id, row.role): row.pk for row in known}
    Grant.objects.filter(pk__in=[pk for key, pk in rows.items() if key not in wanted]).delete()
    new = wanted - rows.keys()
    Grant.objects.bulk_create(Grant(source=source, user_id=user, role=role) for user, role in sorted(new))
    ended = rows.keys() - wanted
    changed = User.objects.filter(pk__in={user for user, _ in new | ended})
    held = Grant.objects.filter(user=OuterRef("pk"))
    administrators = held.filter(role=Grant.Role.ADMINISTRATOR)
    staff = held.filter(role__in=[Grant.Role.SUPPORT, Grant.Role.ADMINISTRATOR])
    changed.update(is_staff=Exists(staff), is_superuser=Exists(administrators))
    names = dict(changed.values_list("pk", "username"))
    said = [(Action.ROLE_TAKEN, key) for key in sorted(ended)] + [(Action.ROLE_GIVEN, key) for key in sorted(new)]
    changes = [Change(done, Kind.ACCOUNT, names[user], Grant.Role(role).label) for done, (user, role) in said]
    record_changes(by or by_directory(source), changes)
    return len(new), len(ended)


def record_directory(directory: Directory, *, is_forced: bool = False) -> DirectoryChange:
    """Make memberships, identities and grants equal to those of this source; all of it or, on an error, nothing.

    Raises DirectoryShrunk, unless forced, when a whole source would lose most of its memberships at once, or the portal
    its last administrator: this is far more often an error of the source than intended.
    """
    with transaction.atomic():
        named = {user for members in directory.roles.values() for user in members}
        named |= {*directory.subjects, *directory.emails, *(user for user, _ in directory.grants)}
        users = _named(User, "username", named)
        projects = _named(Project, "name", set(directory.roles))
        # A second import of the same projects waits here for the first.
        list(Project.objects.select_for_update().filter(name__in=directory.roles).order_by("pk").values_list("pk"))
        listed = _replace_listed(directory, users, projects, is_forced)
        Project.objects.filter(pk__in=[project.pk for project in projects.values()]).update(is_listed=True)
        followed = listed.projects | {project.pk for project in projects.values()}
        _follow_listed(followed, by_directory(directory.source))
        relinked = _link(directory, users) if directory.links_identities else 0
        readdressed = [users[name] for name, email in directory.emails.items() if users[name].email != email]
        for user in readdressed:
            user.email = directory.emails[user.username]
        User.objects.bulk_update(readdressed, ["email"], batch_size=500)
        began, ended = _replace_roles(directory, users, is_forced) if directory.grants_roles else (0, 0)
        if directory.tells_hours:
            _replace_allocations(directory)
        if directory.tells_fields:
            _set_science_fields(directory)
    memberships = sum(map(len, directory.roles.values()))
    counts = (len(projects), memberships, listed.began, listed.ended, relinked, began, ended)
    return DirectoryChange(*counts, listed.ended_names)


def _replace_roles(directory: Directory, users: dict[str, User], is_forced: bool) -> tuple[int, int]:
    """Store the portal roles of this source; how many began and ended."""
    administrators = User.objects.filter(is_active=True, is_superuser=True)
    had_one = administrators.exists()
    counts = replace_grants(directory.source, {(users[name].pk, role) for name, role in directory.grants})
    if had_one and not is_forced and not administrators.exists():
        raise DirectoryShrunk(f"{directory.source} would remove the role of the last administrator")
    return counts


def _replace_listed(
    directory: Directory, users: dict[str, User], projects: dict[str, Project], is_forced: bool
) -> Replaced:
    """Store the memberships of this source."""
    scope = ListedMembership.objects.filter(source=directory.source)
    known = scope if directory.is_complete else scope.filter(project__in=projects.values())
    rows = {(row.project_id, row.user_id): row for row in known}
    wanted = {
        (projects[project].pk, users[name].pk): role
        for project, members in directory.roles.items()
        for name, role in members.items()
    }
    ended = rows.keys() - wanted.keys()
    is_collapse = len(ended) >= SHRINK_LEAST and len(ended) > SHRINK_FRACTION_MAX * len(rows)
    # Hours or fields alone are enough from a source that has never listed a member.
    is_empty = not wanted and bool(rows or not (directory.allocations or directory.science_fields))
    if not is_forced and directory.is_complete and (is_collapse or is_empty):
        raise DirectoryShrunk(
            f"{directory.source} lists {len(wanted)} memberships; {len(ended)} of {len(rows)} would end"
        )
    first = ListedMembership.objects.filter(pk__in=[rows[key].pk for key in sorted(ended)[:ENDED_NAMED_MAX]])
    ended_names = tuple(f"{row.user} in {row.project}" for row in first.select_related("user", "project"))
    _reconcile(ListedMembership, rows, wanted, source=directory.source)
    return Replaced(len(wanted.keys() - rows.keys()), len(ended), ended_names, {project for project, _ in ended})


def _follow_listed(projects: set[int], by: Actor) -> None:
    """Make the memberships of these projects the highest roles that any source lists."""
    wanted: dict[tuple[int, int], str] = {}
    for row in ListedMembership.objects.filter(project__in=projects):
        key = (row.project_id, row.user_id)
        wanted[key] = outranking(row.role, wanted.get(key, row.role))
    rows = {(row.project_id, row.user_id): row for row in Membership.objects.filter(project__in=projects)}
    before = {key: row.role for key, row in rows.items()}
    _reconcile(Membership, rows, wanted)
    record_memberships(by, before, wanted)


def _reconcile(
    model: type[Any], rows: Mapping[tuple[int, int], Any], wanted: Mapping[tuple[int, int], str], **columns: str
) -> None:
    """Delete, change and add rows of `(project, user) -> role`, and leave correct ones unchanged.

    A job that is recorded at the same time may add the same membership; the role of the directory then applies.
    """
    model.objects.filter(pk__in=[row.pk for key, row in rows.items() if key not in wanted]).delete()
    changed = [row for key, row in rows.items() if key in wanted and row.role != wanted[key]]
    for row in changed:
        row.role = wanted[row.project_id, row.user_id]
    model.objects.bulk_update(changed, ["role"], batch_size=500)
    new = sorted(wanted.keys() - rows.keys())
    model.objects.bulk_create(
        (model(project_id=project, user_id=user, role=wanted[project, user], **columns) for project, user in new),
        batch_size=1000,
        update_conflicts=True,
        unique_fields=[*columns, "user", "project"],
        update_fields=["role"],
    )


def _replace_allocations(directory: Directory) -> None:
    """Store the current GPU-hours of this source; those it no longer lists end.

    Hours alone do not define who belongs to a project.
    """
    projects = _named(Project, "name", {*directory.roles, *directory.allocations})
    scope = ProjectAllocation.objects.filter(source=directory.source)
    known = scope if directory.is_complete else scope.filter(project__in=projects.values())
    known.exclude(project__in=[projects[name] for name in directory.allocations]).delete()
    read_at = timezone.now()
    ProjectAllocation.objects.bulk_create(
        (
            ProjectAllocation(source=directory.source, project=projects[name], read_at=read_at, **asdict(hours))
            for name, hours in sorted(directory.allocations.items())
        ),
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["source", "project"],
        update_fields=["gpu_hours", "used_gpu_hours", "begins_on", "ends_on", "read_at"],
    )


def _set_science_fields(directory: Directory) -> None:
    """Store the fields of this source; a project that it lists without one has none."""
    projects = _named(Project, "name", {*directory.roles, *directory.science_fields})
    stated = {name: directory.science_fields.get(name, "") for name in projects}
    changed = [project for name, project in sorted(projects.items()) if project.science_field != stated[name]]
    for project in changed:
        project.science_field = stated[project.name]
    Project.objects.bulk_update(changed, ["science_field"], batch_size=500)


def _link(directory: Directory, users: dict[str, User]) -> int:
    """Link identities to accounts; a person who loses or changes one is signed out. How many links changed."""
    wanted = {users[name].pk: subject for name, subject in directory.subjects.items()}
    before = dict(User.objects.filter(pk__in=wanted).values_list("pk", "oidc_subject"))
    changed = {pk: subject for pk, subject in wanted.items() if before[pk] != subject}
    losing = Q(pk__in=changed) | Q(oidc_subject__in=changed.values())
    if directory.is_complete:
        losing |= Q(linked_by=directory.source) & ~Q(pk__in=wanted)
    lost = User.objects.filter(losing, oidc_subject__isnull=False)
    gone = sorted(lost.exclude(pk__in=changed).values_list("username", flat=True))
    lost.update(oidc_subject=None, linked_by="", session_epoch=F("session_epoch") + 1)
    linked = [User(pk=pk, oidc_subject=subject, linked_by=directory.source) for pk, subject in changed.items()]
    User.objects.bulk_update(linked, ["oidc_subject", "linked_by"], batch_size=500)
    said = [(Action.IDENTITY_UNLINKED, name) for name in gone]
    said += [(Action.IDENTITY_LINKED, name) for name in sorted(directory.subjects) if users[name].pk in changed]
    record_changes(by_directory(directory.source), [Change(done, Kind.ACCOUNT, name) for done, name in said])
    return len(changed) + len(gone)


def _named(model: type[Any], column: str, names: set[str]) -> dict[str, Any]:
    """The rows of these names, created where they are new; new users cannot sign in by password."""
    rows = {getattr(row, column): row for row in model.objects.filter(**{f"{column}__in": names})}
    new = sorted(names - rows.keys())
    if not new:
        return rows
    extra = [{"password": make_password(None)} if model is User else {} for _ in new]
    model.objects.bulk_create(
        (model(**{column: name}, **more) for name, more in zip(new, extra, strict=True)),
        batch_size=500,
        ignore_conflicts=True,
    )
    return rows | {getattr(row, column): row for row in model.objects.filter(**{f"{column}__in": new})}
