"""Who calls: the person, and the token that was sent."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.models import ApiToken
from portal.access import person
from portal.sign_in.device import SCOPE


class WhoAmI(APIView):
    """`GET /api/v1/whoami/`: `token` is null for a session of the portal."""

    def get(self, request: Request) -> Response:
        user, token = person(request), request.auth
        described = {"name": token.name, "expires_at": token.expires_at} if isinstance(token, ApiToken) else None
        return Response(
            {
                "user": user.get_username(),
                "display_name": user.get_full_name() or None,
                "token": described,
                "scopes": [SCOPE],
            }
        )
