"""The sign-in of programs over the API (RFC 8628), the end of their own token, and who calls.

Errors of the first two calls have the form of RFC 6749, section 5.2, because that is what programs expect there.
"""

from abc import ABC, abstractmethod
from http import HTTPStatus
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import FormParser, JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from jobs.audit.services import by_person
from jobs.models import Token
from jobs.tokens.services import revoke_token
from portal.access import person
from portal.api.authentication import LoggingTokenAuthentication, OwnTokenAuthentication
from portal.api.bases import OpenView
from portal.rate_limits import ANONYMOUS_API, DEVICE_SIGN_INS, seconds_to_wait
from portal.sign_in.attempts import client_address
from portal.sign_in.device import (
    CLIENT_IDS,
    GRANT,
    INTERVAL_S,
    INVALID_GRANT,
    LASTS,
    SCOPE,
    SCOPES,
    SLOW_DOWN,
    Declined,
    fetch_token,
    new_codes,
)  # fmt: skip

INVALID_REQUEST, INVALID_CLIENT, INVALID_SCOPE = "invalid_request", "invalid_client", "invalid_scope"
UNSUPPORTED_GRANT = "unsupported_grant_type"
VALUE_LENGTH_MAX = 256


class Invalid(Exception):
    """A request that is declined; the message is its error code."""


class OpenCall(ABC, OpenView):
    """A call that nobody signs in for, with a form or JSON; a member that is not text is invalid."""

    throttle_classes: tuple[type[BaseThrottle], ...] = ()
    parser_classes = (FormParser, JSONParser)

    def post(self, request: Request) -> Response:
        try:
            return _unstored(Response(self.answer(request, _values(request))))
        except (Invalid, Declined) as error:
            return _declined(str(error))
        except UnsupportedMediaType:
            return _declined(INVALID_REQUEST, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        except TooOften as error:
            response = _declined(SLOW_DOWN, HTTPStatus.TOO_MANY_REQUESTS)
            response["Retry-After"] = str(error.wait_s)
            return response

    @abstractmethod
    def answer(self, request: Request, said: dict[str, str]) -> dict[str, Any]:
        """What the call answers. Raises Invalid, Declined, TooOften."""


class TooOften(Exception):
    """Too many calls from this address within a minute."""

    def __init__(self, wait_s: int) -> None:
        super().__init__()
        self.wait_s = wait_s


class DeviceAuthorization(OpenCall):
    """`POST /api/v1/device/authorization`: the codes of a new sign-in (RFC 8628, section 3.2)."""

    def answer(self, request: Request, said: dict[str, str]) -> dict[str, Any]:
        if wait_s := seconds_to_wait(DEVICE_SIGN_INS, request):
            raise TooOften(wait_s)
        _check_client(said)
        scope = said.get("scope") or SCOPE
        if scope not in SCOPES:
            raise Invalid(INVALID_SCOPE)
        codes = new_codes(said.get("device_name", ""), client_address(request), scope, timezone.now())
        page = request.build_absolute_uri(reverse("device"))
        return {
            "device_code": codes.device_code,
            "user_code": codes.user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?{urlencode({'user_code': codes.user_code})}",
            "expires_in": int(LASTS.total_seconds()),
            "interval": INTERVAL_S,
        }


class DeviceToken(OpenCall):
    """`POST /api/v1/device/token`: the token, once, after the person has approved (RFC 8628, sections 3.4 and 3.5).

    A program that waits is limited by its own code, with `slow_down`: all users of a login node share one address.
    Codes that do not exist are counted by address.
    """

    def answer(self, request: Request, said: dict[str, str]) -> dict[str, Any]:
        if said.get("grant_type") != GRANT:
            raise Invalid(UNSUPPORTED_GRANT if said.get("grant_type") else INVALID_REQUEST)
        _check_client(said)
        if not said.get("device_code"):
            raise Invalid(INVALID_REQUEST)
        now = timezone.now()
        try:
            secret, until, scope = fetch_token(said["device_code"], now)
        except Declined as error:
            if str(error) == INVALID_GRANT and (wait_s := seconds_to_wait(ANONYMOUS_API, request)):
                raise TooOften(wait_s) from error
            raise
        expires_in = int((until - now).total_seconds())
        return {"access_token": secret, "token_type": "Bearer", "expires_in": expires_in, "scope": scope}


class RevokeToken(APIView):
    """`POST /api/v1/device/revoke`: ends the personal token that the call was made with, and no other."""

    authentication_classes = (OwnTokenAuthentication,)

    def post(self, request: Request) -> Response:
        token = request.auth
        assert isinstance(token, Token)  # noqa: S101  the only authentication there is
        revoke_token(token, timezone.now(), by_person(person(request)))
        return Response(status=HTTPStatus.NO_CONTENT)


def _values(request: Request) -> dict[str, str]:
    try:
        said = request.data
    except ParseError as error:
        raise Invalid(INVALID_REQUEST) from error
    if isinstance(said, list) or not hasattr(said, "items"):
        raise Invalid(INVALID_REQUEST)
    pairs = dict(said.items())
    if not all(isinstance(value, str) and len(value) <= VALUE_LENGTH_MAX for value in pairs.values()):
        raise Invalid(INVALID_REQUEST)
    return pairs


def _check_client(said: dict[str, str]) -> None:
    if not said.get("client_id"):
        raise Invalid(INVALID_REQUEST)
    if said["client_id"] not in CLIENT_IDS:
        raise Invalid(INVALID_CLIENT)


def _declined(error: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> Response:
    return _unstored(Response({"error": error}, status))


def _unstored(response: Response) -> Response:
    """RFC 6749, section 5.1: no cache may keep what has tokens or codes in it."""
    response["Cache-Control"] = "no-store"
    return response


class WhoAmI(APIView):
    """`GET /api/v1/whoami/`: `token` is null for a session of the portal."""

    authentication_classes = (LoggingTokenAuthentication, SessionAuthentication)

    def get(self, request: Request) -> Response:
        user, token = person(request), request.auth
        described, scope = None, SCOPE
        if isinstance(token, Token):
            described, scope = {"name": token.name, "expires_at": token.expires_at}, token.kind
        return Response(
            {
                "user": user.get_username(),
                "display_name": user.get_full_name() or None,
                "token": described,
                "scopes": [scope],
            }
        )
