"""Signing out: of every browser at once, and at the provider too."""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from jobs.services import end_sessions
from portal.sign_in.kept_answers import ProviderFault
from portal.sign_in.oidc_sign_in import ID_TOKEN
from portal.sign_in.provider import form_targets, origin, the_provider

log = logging.getLogger(__name__)


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
