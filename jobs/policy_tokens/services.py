"""Writing policy tokens: created by a command, revoked by an administrator, with an entry of the audit log each."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobs.accounts.services import TOKEN_USE_RESOLUTION
from jobs.audit.services import Action, Actor, Kind, record_change
from jobs.policy_tokens.models import PolicyToken


def store_policy_token(name: str, *, digest: str, expires_at: datetime, now: datetime, by: Actor) -> None:
    """Store a new token. Raises IntegrityError where one has that name."""
    with transaction.atomic():
        PolicyToken.objects.create(name=name, digest=digest, expires_at=expires_at, created_at=now)
        record_change(by, Action.TOKEN_MADE, Kind.POLICY_TOKEN, name, f"until {expires_at:%Y-%m-%d}")


def revoke_policy_token(token: PolicyToken, now: datetime, by: Actor) -> None:
    """Revoke a token that is not revoked yet."""
    with transaction.atomic():
        if PolicyToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
            record_change(by, Action.TOKEN_REVOKED, Kind.POLICY_TOKEN, token.name)


def record_policy_token_use(token: PolicyToken, now: datetime) -> None:
    """Store when a token was last used, to the hour."""
    if token.last_used_at is None or token.last_used_at <= now - TOKEN_USE_RESOLUTION:
        PolicyToken.objects.filter(pk=token.pk).update(last_used_at=now)
