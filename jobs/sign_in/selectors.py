"""Reading what sign-ins left behind."""

from __future__ import annotations

from jobs.models import User


def has_account(subject: str) -> bool:
    """Is an account linked to this identity, open or closed."""
    return User.objects.filter(oidc_subject=subject).exists()


def differs_in_case_only(subject: str) -> bool:
    """Is an account linked to an identity that is this one but for upper and lower case."""
    return User.objects.filter(oidc_subject__iexact=subject).exclude(oidc_subject=subject).exists()
