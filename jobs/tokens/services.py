"""Writing tokens: created and revoked with an entry of the audit log each."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from jobs.audit.services import Action, Actor, Change, by_person, record_change, record_changes
from jobs.models import Token, User
from jobs.tokens.models import PERSONAL, PREFIXES
from jobs.tokens.selectors import own_tokens, token_digest

SECRET_BYTES = 32
STORED_TOGETHER = 500
USE_RESOLUTION = timedelta(hours=1)
"""The precision of the last use of a token: not every read should cause a write."""


def issue_tokens(tokens: Sequence[Token], *, now: datetime, by: Actor) -> list[str]:
    """Store these new tokens and return their secrets, which nothing else ever does.

    Raises IntegrityError where a name is in use; then none of them is stored.
    """
    made = [PREFIXES[Token.Kind(token.kind)] + secrets.token_urlsafe(SECRET_BYTES) for token in tokens]
    for token, secret in zip(tokens, made, strict=True):
        token.digest, token.created_at = token_digest(secret), now
    with transaction.atomic():
        Token.objects.bulk_create(tokens, batch_size=STORED_TOGETHER)
        changes = (Change(Action.TOKEN_MADE, row.kind_in_log, row.name_in_log, _details(row)) for row in tokens)
        record_changes(by, changes)
    return made


def issue_token(user: User, *, name: str, days: int, now: datetime, kind: Token.Kind | str = Token.Kind.READ) -> str:
    """A new secret of this kind for this person, for this number of days; it is returned only here.

    An expired token of that name is revoked: it opens nothing any more, and its name is free. Raises IntegrityError
    when a valid one has that name.
    """
    token = Token(user=user, name=name, kind=kind, expires_at=now + timedelta(days=days))
    with transaction.atomic():
        for expired in own_tokens(user).filter(name=name, expires_at__lte=now):
            revoke_token(expired, now, by_person(user))
        return issue_tokens([token], now=now, by=by_person(user))[0]


def revoke_token(token: Token, now: datetime, by: Actor) -> None:
    """Revoke a token that is not revoked yet."""
    with transaction.atomic():
        if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
            record_change(by, Action.TOKEN_REVOKED, token.kind_in_log, token.name_in_log)


def record_use(token: Token, now: datetime) -> None:
    """Store when a token was last used, to the hour."""
    if token.last_used_at is None or token.last_used_at <= now - USE_RESOLUTION:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)


def _details(token: Token) -> str:
    details = (
        token.get_kind_display() if token.kind in PERSONAL else "",
        f"cluster {token.cluster}" if token.cluster else "",
        f"until {token.expires_at:%Y-%m-%d}" if token.expires_at else "",
    )
    return ", ".join(filter(None, details))
