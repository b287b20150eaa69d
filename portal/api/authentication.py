"""Who calls: a person, identified by a session of the portal or by a personal token."""

from __future__ import annotations

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from jobs.models import ApiToken, User
from portal.ingest.senders import ENDED, bearer
from portal.sign_in.personal_tokens import token_and_holder

SENDS_ONLY = "This token only sends measurements of your own runs; it cannot read."


class PersonalTokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer kaiku_pat_…`: a person's own program reads what the person may see, and writes nothing."""

    is_read_only = True

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        secret = bearer(get_authorization_header(request).decode("latin-1"))
        if secret is None:
            return None
        found = token_and_holder(secret, timezone.now())
        if found is None:
            raise AuthenticationFailed(ENDED)
        if found[0].kind == ApiToken.Kind.SEND:
            raise PermissionDenied(SENDS_ONLY)
        if self.is_read_only and request.method not in SAFE_METHODS:
            raise PermissionDenied("A personal token is read-only.")
        token, holder = found
        return holder, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class OwnTokenAuthentication(PersonalTokenAuthentication):
    """The same for a call that changes nothing but the token itself, and is not for sessions."""

    is_read_only = False


class AskingTokenAuthentication(PersonalTokenAuthentication):
    """The same for a call that takes its question as a body: it reads as well, and stores nothing."""

    is_read_only = False
