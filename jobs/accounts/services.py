"""Writing what a person has in the portal: looks, tokens, and what an administrator may change of an account."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from jobs.models import ApiToken, Grant, User
from jobs.selectors import own_api_tokens
from jobs.services import replace_grants

ADMINISTRATION = "administration"
"""The source of grants and identities that an administrator gave; no directory takes them back."""

TOKEN_USE_RESOLUTION = timedelta(hours=1)
"""How exactly the last use of a token is known: reading must not cost a write each time."""


def save_appearance(user: User, *, theme: str, time_zone: str) -> None:
    """What a person's pages look like on every device; empty leaves it to the device."""
    User.objects.filter(pk=user.pk).update(theme=theme, time_zone=time_zone)


def store_api_token(user: User, *, name: str, kind: str, digest: str, expires_at: datetime, now: datetime) -> ApiToken:
    """Keep a person's new token. Raises IntegrityError when one of that name holds already."""
    with transaction.atomic():
        columns = {"name": name, "kind": kind, "digest": digest, "created_at": now, "expires_at": expires_at}
        return ApiToken.objects.create(user=user, **columns)


def revoke_api_token(token: ApiToken, now: datetime) -> None:
    """From now on nobody is let in with it."""
    own_api_tokens(token.user).filter(pk=token.pk).update(revoked_at=now)


def record_token_use(token: ApiToken, now: datetime) -> None:
    """Remember that a token was used, to the hour."""
    if token.last_used_at is None or token.last_used_at <= now - TOKEN_USE_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def give_role(user: User, role: str) -> Grant:
    """A role that an administrator gives, beside those that directories say."""
    return _replace_given(user, _given(user) | {role}).get(role=role)


def take_role(grant: Grant) -> None:
    """Take back a role that an administrator gave; one that a directory says stays."""
    _replace_given(grant.user, _given(grant.user) - {grant.role})


def _given(user: User) -> set[str]:
    return set(Grant.objects.filter(source=ADMINISTRATION, user=user).values_list("role", flat=True))


def _replace_given(user: User, roles: set[str]) -> QuerySet[Grant]:
    own = Grant.objects.filter(user=user)
    with transaction.atomic():
        replace_grants(ADMINISTRATION, {(user.pk, role) for role in roles}, own)
    return own.filter(source=ADMINISTRATION)


def change_account(user: User, *, is_active: bool, subject: str | None) -> None:
    """Close or open an account, or link another identity to it; either way its sessions end."""
    columns = {"is_active": is_active, "session_epoch": F("session_epoch") + 1}
    is_linked_anew = not User.objects.filter(pk=user.pk, oidc_subject=subject).exists()
    if is_linked_anew:
        columns |= {"oidc_subject": subject, "linked_by": ADMINISTRATION if subject else ""}
    User.objects.filter(pk=user.pk).update(**columns)
