"""Personal tokens, to read, to send own runs or to log experiments: how they are created, and what for."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import load_backend

from jobs.accounts.services import record_token_use, store_api_token
from jobs.models import ApiToken, User
from jobs.selectors import api_token
from metrics.selectors import token_digest

PREFIX, SENDING_PREFIX, LOGGING_PREFIX, FEED_PREFIX = "kaiku_pat_", "kaiku_run_", "kaiku_log_", "kaiku_feed_"
"""By this prefix a person, or a scanner of repositories, recognises what a lost secret gives access to."""
PREFIXES = {
    ApiToken.Kind.READ: PREFIX,
    ApiToken.Kind.SEND: SENDING_PREFIX,
    ApiToken.Kind.RUNS: LOGGING_PREFIX,
    ApiToken.Kind.FEED: FEED_PREFIX,
}
SECRET_BYTES = 32
TOKENS_MAX = 20


def issue_token(
    user: User, *, name: str, days: int, now: datetime, kind: ApiToken.Kind | str = ApiToken.Kind.READ
) -> str:
    """A new secret of this kind for this person, for this number of days; it is only returned here."""
    secret = PREFIXES[ApiToken.Kind(kind)] + secrets.token_urlsafe(SECRET_BYTES)
    until = now + timedelta(days=days)
    store_api_token(user, name=name, kind=kind, digest=token_digest(secret), expires_at=until, now=now)
    return secret


def token_and_holder(secret: str, now: datetime) -> tuple[ApiToken, User] | None:
    """The token with this secret and its owner; None also for a person who could not sign in at the moment."""
    if not secret.startswith(tuple(PREFIXES.values())):
        return None
    token = api_token(token_digest(secret), now)
    if token is None:
        return None
    holder: User | None = _backend().get_user(token.user_id)
    if holder is None:
        return None
    record_token_use(token, now)
    return token, holder


def can_sign_in(user: User) -> bool:
    """Whether this person could sign in at the moment."""
    return _backend().get_user(user.pk) is not None


def _backend() -> Any:
    """The single access check for tokens: it rejects closed accounts and, with a provider, accounts without an
    identity."""
    return load_backend(settings.AUTHENTICATION_BACKENDS[0])
