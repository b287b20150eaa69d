"""The provider reports that somebody signed out there: OpenID Connect Back-Channel Logout 1.0.

Anybody may send requests here. A token that no key of the provider signed creates no row, and each process fetches keys
for it at most twice a minute.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from jobs.sign_in.services import end_signed_in, spend_logout_token
from portal.sign_in.id_tokens import (
    CLOCK_SKEW_S,
    LOGOUT_TOKEN_BYTES_MAX,
    LOGOUT_TOKEN_S,
    IdentityRefused,
    Logout,
    kid_of_logout,
    logout_of,
)
from portal.sign_in.identities import jti_digest, sid_digest
from portal.sign_in.kept_answers import ProviderFault
from portal.sign_in.provider import Provider

REMEMBERED = timedelta(seconds=LOGOUT_TOKEN_S + 2 * CLOCK_SKEW_S)
"""As long as the same token could be accepted again."""

log = logging.getLogger(__name__)


@csrf_exempt
@require_POST
def back_channel_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that a logout token names: 200 when none of them is left, 400 when it is not accepted."""
    provider: Provider | None = settings.OIDC_PROVIDER
    if provider is None:
        raise Http404("This portal does not use a sign-in provider.")
    try:
        ended = _end(provider, _logout(provider, request))
    except (IdentityRefused, ProviderFault, SuspiciousOperation, MultiPartParserError) as refused:
        log.warning("sign-out by the provider rejected: %s", refused)
        error = {"error": "invalid_request", "error_description": "The logout token was not accepted."}
        return _unkept(JsonResponse(error, status=HTTPStatus.BAD_REQUEST))
    log.info("sign-out by the provider: %s ended", ended)
    return _unkept(HttpResponse(status=HTTPStatus.OK))


def _logout(provider: Provider, request: HttpRequest) -> Logout:
    """What the token of this request ends. Raises IdentityRefused, ProviderFault or SuspiciousOperation."""
    token = request.POST.get("logout_token", "")
    if len(token) > LOGOUT_TOKEN_BYTES_MAX:
        raise IdentityRefused("the token is too long")
    who = {"issuer": provider.issuer, "client_id": provider.client_id}
    keys = provider.kept_keys(kid_of_logout(token, **who))
    return logout_of(token, keys, **who, case=settings.OIDC_SUBJECT_CASE)


def _end(provider: Provider, logout: Logout) -> int:
    """End what a valid token names, once. Raises IdentityRefused if it was used before."""
    now = timezone.now()
    with transaction.atomic():
        if not spend_logout_token(jti_digest(provider.issuer, logout.jti), until=now + REMEMBERED, now=now):
            raise IdentityRefused("the token was used before")
        return end_signed_in(subject=logout.subject, sid=sid_digest(provider.issuer, logout.sid))


def _unkept(answer: HttpResponse) -> HttpResponse:
    answer["Cache-Control"] = "no-store"
    return answer
