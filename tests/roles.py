"""Roles in the portal and in projects, as the tests ask for and give them."""

from __future__ import annotations

from jobs.models import Grant, Membership, Project, User


def has_role(user: User, role: Grant.Role) -> bool:
    return Grant.objects.filter(user=user, role=role).exists()


def set_role(user: User, project: Project, role: Membership.Role) -> None:
    """Give a person a role in a project, replacing the one before."""
    Membership.objects.update_or_create(user=user, project=project, defaults={"role": role})
