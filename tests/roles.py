"""Who holds which role in the portal, as the tests ask for it."""

from __future__ import annotations

from jobs.models import Grant, User


def has_role(user: User, role: Grant.Role) -> bool:
    return Grant.objects.filter(user=user, role=role).exists()
