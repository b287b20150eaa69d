"""Reading policy tokens."""

from __future__ import annotations

from datetime import datetime

from jobs.policy_tokens.models import PolicyToken


def policy_token(digest: str, now: datetime) -> PolicyToken | None:
    """The token whose secret has this digest; None when there is none, it was revoked, or it expired."""
    return PolicyToken.objects.filter(digest=digest, revoked_at=None, expires_at__gt=now).first()
