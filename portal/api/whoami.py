"""Who calls: the person, and the token that was sent."""

from __future__ import annotations

from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import ApiToken
from portal.access import person
from portal.api.authentication import LoggingTokenAuthentication
from portal.sign_in.device import SCOPE


class WhoAmI(APIView):
    """`GET /api/v1/whoami/`: `token` is null for a session of the portal."""

    authentication_classes = (LoggingTokenAuthentication, SessionAuthentication)

    def get(self, request: Request) -> Response:
        user, token = person(request), request.auth
        described, scope = None, SCOPE
        if isinstance(token, ApiToken):
            described, scope = {"name": token.name, "expires_at": token.expires_at}, token.kind
        return Response(
            {
                "user": user.get_username(),
                "display_name": user.get_full_name() or None,
                "token": described,
                "scopes": [scope],
            }
        )
