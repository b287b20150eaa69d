"""Writing the portal data of a person: appearance, and what an administrator may change of an account."""

from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from jobs.audit.services import Action, Actor, Kind, record_change, record_memberships
from jobs.models import Grant, Membership, User
from jobs.services import replace_grants

ADMINISTRATION = "administration"
"""The source of grants and identities that an administrator gave; no directory removes them."""


def save_appearance(user: User, *, theme: str, time_zone: str, shows_hints: bool) -> None:
    """The appearance of a person's pages on every device, where empty leaves it to the device; and whether lines about
    own works may be shown when a job is submitted."""
    User.objects.filter(pk=user.pk).update(theme=theme, time_zone=time_zone, shows_hints=shows_hints)


def save_slurm_comments(user: User, *, is_on: bool, now: datetime) -> None:
    """Whether the runs of a person that end from now on get a comment in Slurm; switching on twice changes nothing."""
    own = User.objects.filter(pk=user.pk)
    if is_on:
        own.filter(slurm_comments_since=None).update(slurm_comments_since=now)
    else:
        own.update(slurm_comments_since=None)


def give_role(user: User, role: str, *, by: Actor) -> Grant:
    """Give a role as an administrator, in addition to those from directories."""
    return _replace_given(user, _given(user) | {role}, by).get(role=role)


def take_role(grant: Grant, *, by: Actor) -> None:
    """Remove a role that an administrator gave; one from a directory stays."""
    _replace_given(grant.user, _given(grant.user) - {grant.role}, by)


def save_membership(membership: Membership, *, by: Actor) -> None:
    """Store a membership that an administrator added or changed."""
    with transaction.atomic():
        before = _roles(membership)
        membership.save()
        record_memberships(by, before, _roles(membership))


def end_membership(membership: Membership, *, by: Actor) -> None:
    """Delete a membership as an administrator."""
    with transaction.atomic():
        before = _roles(membership)
        Membership.objects.filter(pk=membership.pk).delete()
        record_memberships(by, before, {})


def _roles(membership: Membership) -> dict[tuple[int, int], str]:
    stored = Membership.objects.filter(pk=membership.pk)
    return {(project, user): role for project, user, role in stored.values_list("project", "user", "role")}


def _given(user: User) -> set[str]:
    return set(Grant.objects.filter(source=ADMINISTRATION, user=user).values_list("role", flat=True))


def _replace_given(user: User, roles: set[str], by: Actor) -> QuerySet[Grant]:
    own = Grant.objects.filter(user=user)
    replace_grants(ADMINISTRATION, {(user.pk, role) for role in roles}, own, by=by)
    return own.filter(source=ADMINISTRATION)


def change_account(user: User, *, is_active: bool, subject: str | None, by: Actor) -> None:
    """Close or open an account, or link another identity to it; either way its sessions end."""
    columns = {"is_active": is_active, "session_epoch": F("session_epoch") + 1}
    with transaction.atomic():
        before = User.objects.select_for_update().get(pk=user.pk)
        if before.oidc_subject != subject:
            columns |= {"oidc_subject": subject, "linked_by": ADMINISTRATION if subject else ""}
            linked = Action.IDENTITY_LINKED if subject else Action.IDENTITY_UNLINKED
            record_change(by, linked, Kind.ACCOUNT, before.username)
        if before.is_active != is_active:
            opened = Action.ACCOUNT_OPENED if is_active else Action.ACCOUNT_CLOSED
            record_change(by, opened, Kind.ACCOUNT, before.username)
        User.objects.filter(pk=user.pk).update(**columns)
