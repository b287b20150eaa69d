"""Sign-ins that a browser began and has not finished, kept in that browser, in a signed cookie.

So a start stores nothing here and costs next to nothing, whoever sends how many: nobody has to be kept from it. The
cookie is good for its own browser only, goes nowhere but to the pages of sign-in, and scripts cannot read it. What is
in it is no secret to its owner: state, nonce and PKCE verifier guard a browser against others.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

COOKIE, SALT = "kaiku_sign_in", "portal.sign_in.pending"
KEPT_S = 3600
"""As long as somebody may take at the provider, who perhaps registers there first."""
TABS_MAX = 4
NEXT_LENGTH_MAX = 500
"""Browsers keep a cookie of up to 4,096 bytes (RFC 6265, section 6.1): four of 700, signed and in base 64, fit."""


@dataclass(frozen=True)
class Pending:
    """One sign-in: what the provider must come back with, and where the person was going."""

    nonce: str
    verifier: str
    following: str


def pending(request: HttpRequest, state: str) -> Pending | None:
    """The sign-in that this browser began under this state; None when it began none, too long ago, or finished it."""
    entry = _all(request).get(state)
    return Pending(**entry) if entry else None


def remember(request: HttpRequest, answer: HttpResponse, state: str, begun: Pending) -> None:
    """Keep one more sign-in in this browser; of many the oldest goes."""
    following = begun.following if len(json.dumps(begun.following)) <= NEXT_LENGTH_MAX else ""
    entries = _all(request) | {state: asdict(begun) | {"following": following}}
    _keep(answer, dict(list(entries.items())[-TABS_MAX:]))


def forget(request: HttpRequest, answer: HttpResponse, state: str) -> None:
    """This sign-in is over, however it went."""
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
