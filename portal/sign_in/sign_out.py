"""Signing out: of every browser at once, and at the provider too; and what the provider reports of it.

OpenID Connect Back-Channel Logout 1.0. Anybody may send requests there. A token that no key of the provider signed
creates no row, and each process fetches keys for it at most twice a minute.
"""

import logging
from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth import logout
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from jobs.services import end_sessions
from jobs.sign_in.services import end_signed_in, spend_logout_token
from portal.access import or_404
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
from portal.sign_in.oidc_sign_in import ID_TOKEN
from portal.sign_in.provider import NO_PROVIDER, Provider, form_targets, origin, the_provider

log = logging.getLogger(__name__)

REMEMBERED = timedelta(seconds=LOGOUT_TOKEN_S + 2 * CLOCK_SKEW_S)
"""As long as the same token could be accepted again."""


@never_cache
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End every session of this person, then redirect to the provider's own sign-out."""
    token = request.session.get(ID_TOKEN)
    if request.user.is_authenticated:
        end_sessions(request.user)
    logout(request)
    onward = _provider_sign_out(request, token) if settings.OIDC_PROVIDER and token else ""
    if not onward:
        return redirect("sign-in")
    if origin(onward) in form_targets(settings.OIDC_PROVIDER):
        return redirect(onward)
    # A browser would not follow a form to an origin that the policy does not list, but it follows a link.
    return render(request, "portal/sign_in/signed_out.html", {"onward": onward, "provider": the_provider().name})


def _provider_sign_out(request: HttpRequest, token: str) -> str:
    """OpenID Connect RP-Initiated Logout 1.0, section 2; empty if the provider has none or is unreachable."""
    provider = the_provider()
    try:
        address = provider.endpoint("end_session_endpoint")
    except ProviderFault as fault:
        log.warning("sign-out: %s", fault)
        return ""
    query = {
        "id_token_hint": token,
        "client_id": provider.client_id,
        "post_logout_redirect_uri": request.build_absolute_uri(reverse("sign-in")),
    }
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}" if address else ""


@csrf_exempt
@require_POST
@cache_control(no_store=True)
def back_channel_sign_out(request: HttpRequest) -> HttpResponse:
    """End the sessions that a logout token names: 200 when none of them is left, 400 when it is not accepted."""
    provider: Provider = or_404(settings.OIDC_PROVIDER, NO_PROVIDER)
    try:
        ended = _end(provider, _logout(provider, request))
    except (IdentityRefused, ProviderFault, SuspiciousOperation, MultiPartParserError) as refused:
        log.warning("sign-out by the provider rejected: %s", refused)
        error = {"error": "invalid_request", "error_description": "The logout token was not accepted."}
        return JsonResponse(error, status=HTTPStatus.BAD_REQUEST)
    log.info("sign-out by the provider: %s ended", ended)
    return HttpResponse(status=HTTPStatus.OK)


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
