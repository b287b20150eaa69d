"""Personal tokens: who calls with one."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import load_backend

from jobs.models import Token, User
from jobs.tokens.models import PERSONAL, PREFIXES
from jobs.tokens.selectors import valid_token
from jobs.tokens.services import record_use

TOKENS_MAX = 20


def token_and_holder(secret: str, now: datetime) -> tuple[Token, User] | None:
    """The token with this secret and its owner; None also for a person who could not sign in at the moment."""
    if not secret.startswith(tuple(PREFIXES[kind] for kind in PERSONAL)):
        return None
    token = valid_token(secret, PERSONAL, now)
    if token is None:
        return None
    holder: User | None = _backend().get_user(token.user_id)
    if holder is None:
        return None
    record_use(token, now)
    return token, holder


def can_sign_in(user: User) -> bool:
    """Whether this person could sign in at the moment."""
    return _backend().get_user(user.pk) is not None


def _backend() -> Any:
    """The single access check for tokens: it rejects closed accounts and, with a provider, accounts without an
    identity."""
    return load_backend(settings.AUTHENTICATION_BACKENDS[0])
