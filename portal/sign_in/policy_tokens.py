"""Policy tokens, with which schedulers read the policy figures alone: how a secret is created and checked."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from jobs.audit.services import Actor
from jobs.models import PolicyToken
from jobs.policy_tokens.selectors import policy_token
from jobs.policy_tokens.services import record_policy_token_use, store_policy_token
from metrics.selectors import token_digest
from portal.sign_in.personal_tokens import SECRET_BYTES

POLICY_PREFIX = "kaiku_policy_"


def issue_policy_token(name: str, *, days: int, now: datetime, by: Actor) -> str:
    """A new secret, valid for this number of days; it is only returned here. Raises IntegrityError for a used name."""
    secret = POLICY_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    store_policy_token(name, digest=token_digest(secret), expires_at=now + timedelta(days=days), now=now, by=by)
    return secret


def valid_policy_token(secret: str, now: datetime) -> PolicyToken | None:
    """The token with this secret, whose use is stored; None where it is unknown, has expired or was revoked."""
    token = policy_token(token_digest(secret), now)
    if token is not None:
        record_policy_token_use(token, now)
    return token
