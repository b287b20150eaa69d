"""Addresses that stand in mail: absolute, and for opting out signed, so that they work without signing in."""

from __future__ import annotations

from django.conf import settings
from django.core import signing
from django.urls import reverse

from jobs.models import Job, User

SIGNER = signing.Signer(salt="reports.opt-out")


def address(name: str, *arguments: object) -> str:
    """A page of the portal by the name of its route."""
    return settings.SITE_URL + reverse(name, args=arguments)


def job_address(job: Job) -> str:
    """The page of a run."""
    return address("job", job.cluster, job.job_id) + f"?attempt={job.attempt}"


def opt_out_address(user: User) -> str:
    """Where one click ends all mail to this person; it never expires."""
    return address("opt-out", SIGNER.sign(user.pk))


def opt_out_user(token: str) -> User | None:
    """Whom a token belongs to; None when it was not signed here or the account is gone."""
    try:
        return User.objects.filter(pk=int(SIGNER.unsign(token))).first()
    except (signing.BadSignature, ValueError):
        return None
