"""Writing comment tokens: created by a command, revoked by an administrator, with an entry of the audit log each."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobs.accounts.services import TOKEN_USE_RESOLUTION
from jobs.audit.services import Action, Actor, Kind, record_change
from jobs.comment_tokens.models import CommentToken


def store_comment_token(
    name: str, *, cluster: str, digest: str, expires_at: datetime, now: datetime, by: Actor
) -> None:
    """Store a new token. Raises IntegrityError where one has that name."""
    with transaction.atomic():
        columns = {"cluster": cluster, "digest": digest, "expires_at": expires_at, "created_at": now}
        CommentToken.objects.create(name=name, **columns)
        record_change(by, Action.TOKEN_MADE, Kind.COMMENT_TOKEN, name, f"{cluster}, until {expires_at:%Y-%m-%d}")


def revoke_comment_token(token: CommentToken, now: datetime, by: Actor) -> None:
    """Revoke a token that is not revoked yet."""
    with transaction.atomic():
        if CommentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
            record_change(by, Action.TOKEN_REVOKED, Kind.COMMENT_TOKEN, token.name)


def record_comment_token_use(token: CommentToken, now: datetime) -> None:
    """Store when a token was last used, to the hour."""
    if token.last_used_at is None or token.last_used_at <= now - TOKEN_USE_RESOLUTION:
        CommentToken.objects.filter(pk=token.pk).update(last_used_at=now)
