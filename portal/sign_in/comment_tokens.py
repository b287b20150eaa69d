"""Comment tokens, with which an operator of Slurm reads the comments of judged jobs alone: how a secret is created and
checked."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from jobs.audit.services import Actor
from jobs.comment_tokens.selectors import comment_token
from jobs.comment_tokens.services import record_comment_token_use, store_comment_token
from jobs.models import CommentToken
from metrics.selectors import token_digest
from portal.sign_in.personal_tokens import SECRET_BYTES

COMMENT_PREFIX = "kaiku_comments_"


def issue_comment_token(name: str, *, cluster: str, days: int, now: datetime, by: Actor) -> str:
    """A new secret, valid for this number of days; it is only returned here. Raises IntegrityError for a used name."""
    secret = COMMENT_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    expires_at = now + timedelta(days=days)
    store_comment_token(name, cluster=cluster, digest=token_digest(secret), expires_at=expires_at, now=now, by=by)
    return secret


def valid_comment_token(secret: str, now: datetime) -> CommentToken | None:
    """The token with this secret, whose use is stored; None where it is unknown, has expired or was revoked."""
    token = comment_token(token_digest(secret), now)
    if token is not None:
        record_comment_token_use(token, now)
    return token
