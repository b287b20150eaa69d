"""Who calls: a collector by its token, a person by the session of the portal or a token of one's own."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission

from jobs.models import ApiToken, User
from metrics.models import CollectorToken
from metrics.selectors import collector_token
from portal.api_tokens import token_and_holder


def bearer(request: HttpRequest) -> str | None:
    """The secret of an `Authorization: Bearer` header; None without one."""
    scheme, _, secret = get_authorization_header(request).partition(b" ")
    return secret.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


class CollectorTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>` of a collector."""

    def authenticate(self, request: HttpRequest) -> tuple[None, CollectorToken] | None:
        secret = bearer(request)
        if secret is None:
            return None
        token = collector_token(secret)
        if token is None:
            raise AuthenticationFailed("This token is not known, or it was revoked.")
        return None, token

    def authenticate_header(self, request: HttpRequest) -> str:
        return "Bearer"


class PersonalTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer kaiku_pat_…`: a person's own program reads what the person may see, and writes nothing."""

    def authenticate(self, request: HttpRequest) -> tuple[User, ApiToken] | None:
        secret = bearer(request)
        if secret is None:
            return None
        found = token_and_holder(secret, timezone.now())
        if found is None:
            raise AuthenticationFailed("This token is not known, it expired, or it was revoked.")
        if request.method not in SAFE_METHODS:
            raise PermissionDenied("A personal token reads only.")
        token, holder = found
        return holder, token

    def authenticate_header(self, request: HttpRequest) -> str:
        return "Bearer"


class IsCollector(BasePermission):
    """Only a collector's token opens the ingest."""

    def has_permission(self, request: HttpRequest, view: object) -> bool:
        return isinstance(request.auth, CollectorToken)
