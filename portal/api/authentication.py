"""Who calls: a collector by its token, a person by the session of the portal."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission

from metrics.models import CollectorToken
from metrics.selectors import collector_token


class CollectorTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>` of a collector."""

    def authenticate(self, request: HttpRequest) -> tuple[None, CollectorToken] | None:
        scheme, _, secret = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        token = collector_token(secret.strip().decode("latin-1"))
        if token is None:
            raise AuthenticationFailed("This token is not known, or it was revoked.")
        return None, token

    def authenticate_header(self, request: HttpRequest) -> str:
        return "Bearer"


class PortalSession(SessionAuthentication):
    """The portal's own session; named in the answer to strangers, so that they get 401 and not 403."""

    def authenticate_header(self, request: HttpRequest) -> str:
        return "Session"


class IsCollector(BasePermission):
    """Only a collector's token opens the ingest."""

    def has_permission(self, request: HttpRequest, view: object) -> bool:
        return isinstance(request.auth, CollectorToken)
