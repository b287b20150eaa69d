"""To the provider and back: every error on this way ends on a page that explains it, never in a server error.

Neither way is counted; see `portal.sign_in.attempts`. A request from the provider without a sign-in of this browser
changes nothing: no session, no row, no call.
"""

import logging
import threading
from datetime import timedelta
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from mozilla_django_oidc.utils import generate_code_challenge

from jobs.models import User
from jobs.sign_in.selectors import differs_in_case_only, has_account
from jobs.sign_in.services import record_unknown_identity, remember_provider_session, sweep_sessions
from portal.access import or_404
from portal.sign_in.backend import NotLinked, ProviderBackend
from portal.sign_in.id_tokens import IdentityRefused
from portal.sign_in.identities import subject_digest
from portal.sign_in.kept_answers import ProviderFault
from portal.sign_in.pending import Pending, forget, pending, remember
from portal.sign_in.provider import NO_PROVIDER, Provider, the_provider
from portal.sign_in.views import UNLINKED, wanted_page

ID_TOKEN = "oidc_id_token"  # noqa: S105  (the name of a session entry)
BACKEND = "portal.sign_in.backend.ProviderBackend"
BUSY_RELOAD_S = 3

log = logging.getLogger(__name__)

free_to_ask = threading.BoundedSemaphore(max(1, settings.PAGE_THREADS - 2))
"""The most threads of this process that wait for the provider: a slow one leaves two for all other pages."""


@never_cache
@require_GET
def start_sign_in(request: HttpRequest) -> HttpResponse:
    """To the provider, with a state, a nonce and a PKCE challenge that only this browser knows."""
    provider: Provider = or_404(settings.OIDC_PROVIDER, NO_PROVIDER)
    state = get_random_string(32)
    begun = Pending(get_random_string(32), get_random_string(64), wanted_page(request))
    query = {
        "response_type": "code",
        "scope": provider.scopes,
        "client_id": provider.client_id,
        "redirect_uri": request.build_absolute_uri(reverse("sign-in-callback")),
        "state": state,
        "nonce": begun.nonce,
        "code_challenge": generate_code_challenge(begun.verifier, "S256"),
        "code_challenge_method": "S256",
    }
    try:
        address = provider.endpoint("authorization_endpoint")
    except ProviderFault as fault:
        return _away(request, fault)
    answer = redirect(f"{address}{'&' if '?' in address else '?'}{urlencode(query)}")
    remember(request, answer, state, begun)
    return answer


@never_cache
@require_GET
def finish_sign_in(request: HttpRequest) -> HttpResponse:
    """Back from the provider; only an identity that a directory linked to an account gets a session."""
    provider: Provider = or_404(settings.OIDC_PROVIDER, NO_PROVIDER)
    state = request.GET.get("state", "")
    begun = pending(request, state)
    if begun is None:
        return failed(request, "cancelled" if request.GET.get("error") else "expired", HTTPStatus.BAD_REQUEST)
    # RFC 9207, section 2.4: an answer that names its issuer must name ours. Another answer does not end the sign-in.
    if request.GET.get("iss", provider.issuer) != provider.issuer:
        return _refused(request, IdentityRefused("the answer comes from another issuer"))
    if not request.GET.get("code") or request.GET.get("error"):
        answer = failed(request, "cancelled", HTTPStatus.BAD_REQUEST)
    elif free_to_ask.acquire(blocking=False):
        try:
            answer = _finished(request, begun)
        finally:
            free_to_ask.release()
    else:
        return _busy(request)
    forget(request, answer, state)
    return answer


def _finished(request: HttpRequest, begun: Pending) -> HttpResponse:
    """Get the identity from the provider, and sign in the account that is linked to it."""
    backend = ProviderBackend()
    try:
        user = backend.authenticate(request, nonce=begun.nonce, code_verifier=begun.verifier)
    except NotLinked as unlinked:
        return _without_account(request, str(unlinked), backend.id_token)
    except IdentityRefused as refused:
        return _refused(request, refused)
    except ProviderFault as fault:
        return _away(request, fault)
    if user is None:
        return failed(request, "expired", HTTPStatus.BAD_REQUEST)
    _let_in(request, user, backend)
    return redirect(begun.following or settings.LOGIN_REDIRECT_URL)


def _let_in(request: HttpRequest, user: User, backend: ProviderBackend) -> None:
    sweep_sessions(timezone.now())
    # A person who is already signed in continues; forms in other tabs remain valid.
    if request.user != user:
        login(request, user, backend=BACKEND)
    request.session[ID_TOKEN] = backend.id_token
    request.session.pop(UNLINKED, None)
    if backend.sid:
        request.session.save()
        kept = timedelta(seconds=settings.SESSION_COOKIE_AGE)
        key = request.session.session_key or ""
        remember_provider_session(user, sid=backend.sid, session_key=key, now=timezone.now(), kept=kept)


def _without_account(request: HttpRequest, subject: str, token: str) -> HttpResponse:
    if not has_account(subject):
        record_unknown_identity(subject_digest(subject), timezone.now())
        if differs_in_case_only(subject):
            log.warning("an identity without an account differs from a linked one only in case: see OIDC_SUBJECT_CASE")
    logout(request)
    request.session[UNLINKED], request.session[ID_TOKEN] = subject, token
    return redirect("no-account")


def _refused(request: HttpRequest, refused: IdentityRefused) -> HttpResponse:
    log.warning("sign-in rejected: %s", refused)
    return failed(request, "refused", HTTPStatus.FORBIDDEN)


def _away(request: HttpRequest, fault: ProviderFault) -> HttpResponse:
    log.error("sign-in: %s", fault)
    return failed(request, "away", HTTPStatus.BAD_GATEWAY)


def _busy(request: HttpRequest) -> HttpResponse:
    """The same address works a moment later; the browser reloads it automatically."""
    answer = failed(request, "busy", HTTPStatus.SERVICE_UNAVAILABLE)
    answer["Retry-After"] = answer["Refresh"] = str(BUSY_RELOAD_S)
    return answer


def failed(request: HttpRequest, why: str, status: int) -> HttpResponse:
    """The page that explains why signing in did not work; `why` is away, refused, expired, cancelled or busy."""
    context = {"why": why, "provider": the_provider().name}
    return render(request, "portal/sign_in/sign_in_failed.html", context, status=status)
