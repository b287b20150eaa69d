"""Reading tokens."""

import hashlib
from collections.abc import Collection
from datetime import datetime

from django.db.models import Q, QuerySet

from jobs.models import Token, User


def token_digest(secret: str) -> str:
    """The stored digest of a token. A random secret of 256 bits cannot be guessed, so it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def valid_token(secret: str, kinds: Collection[str], now: datetime) -> Token | None:
    """The token of this secret, if it is of one of these kinds; None when it was revoked or expired, too."""
    lasting = Token.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)
    return lasting.filter(digest=token_digest(secret), kind__in=kinds).first()


def own_tokens(user: User) -> QuerySet[Token]:
    """This person's tokens that were not revoked, expired ones too, the latest first."""
    return Token.objects.filter(user=user, revoked_at=None).order_by("-created_at", "-pk")
