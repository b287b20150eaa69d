"""Writing the audit log, in the transaction of the change itself: both are stored, or neither is."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from jobs.audit.models import AuditEntry
from jobs.models import Membership, Project, User

BATCH_ROWS = 500
"""The number of entries that one statement removes; new entries do not wait for it."""

RECORDED_TOGETHER = 1000

REMOVES_BEFORE = "kaiku.audit_removes_before"
"""PostgreSQL's trigger allows only a transaction that sets this to delete entries, those from before that instant."""

Action, Kind = AuditEntry.Action, AuditEntry.Kind
Roles = Mapping[tuple[int, int], str]
"""(Project, user) by their keys -> the role there."""


@dataclass(frozen=True)
class Actor:
    """Who or what changes something, by the name that is stored in the log."""

    kind: str
    name: str


@dataclass(frozen=True)
class Change:
    """What was done to what; `name` and `details` must not hold secrets, or personal data other than account names."""

    action: str
    kind: str
    name: str
    details: str = ""


BY_PROVIDER = Actor(AuditEntry.ActorKind.PROVIDER, "sign-in provider")


def by_person(user: User) -> Actor:
    """Somebody who is signed in."""
    return Actor(AuditEntry.ActorKind.PERSON, user.get_username())


def by_policy_token(name: str) -> Actor:
    """A program with this policy token."""
    return Actor(AuditEntry.ActorKind.POLICY_TOKEN, name)


def by_command(name: str) -> Actor:
    """Someone who can run `manage.py NAME` on a host of the portal."""
    return Actor(AuditEntry.ActorKind.COMMAND, f"manage.py {name}")


def by_directory(source: str) -> Actor:
    """An import from this source."""
    return Actor(AuditEntry.ActorKind.DIRECTORY, source)


def record_changes(by: Actor, changes: Iterable[Change]) -> None:
    """One entry for each change. Raises TransactionManagementError outside the transaction that makes the changes."""
    connection.validate_no_broken_transaction()
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("a change and its entry in the audit log are stored together")
    now = timezone.now()
    AuditEntry.objects.bulk_create((_entry(by, change, now) for change in changes), batch_size=RECORDED_TOGETHER)


def record_change(by: Actor, action: str, kind: str, name: object, details: str = "") -> None:
    """One entry. Raises TransactionManagementError outside the transaction that makes the change."""
    record_changes(by, [Change(action, kind, str(name), details)])


def record_memberships(by: Actor, before: Roles, after: Roles) -> None:
    """The project roles that changed, one entry for each."""
    keys = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    if not keys:
        return
    projects = _names(Project, "name", {project for project, _ in keys})
    users = _names(User, "username", {user for _, user in keys})
    changes = (
        _membership_change(f"{users[user]} in {projects[project]}", before.get(key), after.get(key))
        for key in keys
        for project, user in [key]
    )
    record_changes(by, changes)


def remove_entries(before: datetime) -> Iterator[int]:
    """Remove the entries from before an instant, in batches; yields the number after each batch."""
    old = AuditEntry.objects.filter(at__lt=before).order_by("at", "pk").values_list("pk", flat=True)
    while keys := list(old[:BATCH_ROWS]):
        with transaction.atomic():
            _let_remove(before)
            removed, _ = QuerySet(AuditEntry).filter(pk__in=keys).delete()
        yield removed


def _let_remove(before: datetime) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true)", [REMOVES_BEFORE, before.isoformat()])


def _entry(by: Actor, change: Change, now: datetime) -> AuditEntry:
    return AuditEntry(
        at=now,
        actor_kind=by.kind,
        actor=by.name[: AuditEntry.NAME_LENGTH_MAX],
        action=change.action,
        kind=change.kind,
        name=change.name[: AuditEntry.NAME_LENGTH_MAX],
        details=change.details[: AuditEntry.DETAILS_LENGTH_MAX],
    )


def _membership_change(name: str, before: str | None, after: str | None) -> Change:
    said_before, said_after = (Membership.Role(role).label if role else "" for role in (before, after))
    if after is None:
        return Change(Action.MEMBER_REMOVED, Kind.MEMBERSHIP, name, said_before)
    if before is None:
        return Change(Action.MEMBER_ADDED, Kind.MEMBERSHIP, name, said_after)
    return Change(Action.MEMBER_CHANGED, Kind.MEMBERSHIP, name, f"{said_before} to {said_after}")


def _names(model: type[Project] | type[User], column: str, keys: set[int]) -> dict[int, str]:
    return dict(model.objects.filter(pk__in=keys).values_list("pk", column))
