"""Reading comment tokens."""

from __future__ import annotations

from datetime import datetime

from jobs.comment_tokens.models import CommentToken


def comment_token(digest: str, now: datetime) -> CommentToken | None:
    """The token whose secret has this digest; None when there is none, it was revoked, or it expired."""
    return CommentToken.objects.filter(digest=digest, revoked_at=None, expires_at__gt=now).first()
