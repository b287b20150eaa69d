"""Reading the data of sign-ins."""

from jobs.models import User


def has_account(subject: str) -> bool:
    """Whether an account, open or closed, is linked to this identity."""
    return User.objects.filter(oidc_subject=subject).exists()


def differs_in_case_only(subject: str) -> bool:
    """Whether an account is linked to an identity that differs from this one only in case."""
    return User.objects.filter(oidc_subject__iexact=subject).exclude(oidc_subject=subject).exists()
