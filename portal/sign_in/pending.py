"""Sign-ins that a browser started and has not finished, stored in that browser, in a signed cookie.

A start therefore stores nothing here and costs almost nothing, however many are sent, so it needs no limit. The cookie
is valid only in its own browser, is sent only to the sign-in pages, and cannot be read by scripts. Its content is not
secret from its owner: state, nonce and PKCE verifier protect a browser against others.
"""

import json
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

COOKIE, SALT = "kaiku_sign_in", "portal.sign_in.pending"
KEPT_S = 3600
"""How long a person may take at the provider, perhaps to register there first."""
TABS_MAX = 4
NEXT_LENGTH_MAX = 500
"""Browsers keep a cookie of up to 4,096 bytes (RFC 6265, section 6.1): four of 700, signed and in base 64, fit."""


@dataclass(frozen=True)
class Pending:
    """One sign-in: what the provider must return, and which page the person wanted."""

    nonce: str
    verifier: str
    following: str


def pending(request: HttpRequest, state: str) -> Pending | None:
    """The sign-in that this browser started with this state; None if it started none, too long ago, or finished it."""
    entry = _all(request).get(state)
    return Pending(**entry) if entry else None


def remember(request: HttpRequest, answer: HttpResponse, state: str, begun: Pending) -> None:
    """Store one more sign-in in this browser; if there are too many, the oldest is dropped."""
    following = begun.following if len(json.dumps(begun.following)) <= NEXT_LENGTH_MAX else ""
    entries = _all(request) | {state: asdict(begun) | {"following": following}}
    _keep(answer, dict(list(entries.items())[-TABS_MAX:]))


def forget(request: HttpRequest, answer: HttpResponse, state: str) -> None:
    """This sign-in is over, whatever its result."""
    entries = _all(request)
    entries.pop(state, None)
    _keep(answer, entries)


def _all(request: HttpRequest) -> dict[str, dict[str, str]]:
    try:
        found: dict[str, dict[str, str]] = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=KEPT_S)
    except signing.BadSignature:
        return {}
    return found


def _keep(answer: HttpResponse, entries: dict[str, dict[str, str]]) -> None:
    path = reverse("sign-in")
    if not entries:
        answer.delete_cookie(COOKIE, path=path, samesite="Lax")
        return
    value = signing.dumps(entries, salt=SALT)
    is_secure = settings.SESSION_COOKIE_SECURE
    answer.set_cookie(COOKIE, value, max_age=KEPT_S, path=path, secure=is_secure, httponly=True, samesite="Lax")
