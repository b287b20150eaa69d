"""To the provider and back: whatever goes wrong there ends on a page that says so, never in a server error."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from portal.oidc.backend import NotLinked, library_setting
from portal.oidc.provider import ProviderFault
from portal.oidc.tokens import IdentityRefused
from portal.throttle import count_attempt, is_exhausted, too_many
from portal.views.sign_in import UNLINKED

ID_TOKEN = "oidc_id_token"  # noqa: S105  (the library's name of a session entry)

log = logging.getLogger(__name__)


class _OnlyWithProvider:
    """What both views share: no provider, no page; and a limit on attempts."""

    @staticmethod
    def get_settings(attr: str, *args: Any) -> Any:
        return library_setting(attr, *args)

    @method_decorator(never_cache)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.OIDC_PROVIDER is None:
            raise Http404("Nobody signs in through a provider here.")
        if is_exhausted(request):
            return too_many(request)
        try:
            return super().dispatch(request, *args, **kwargs)
        except ProviderFault as fault:
            log.error("sign-in: %s", fault)
            return failed(request, "away", 502)


class StartSignIn(_OnlyWithProvider, OIDCAuthenticationRequestView):
    """Off to the provider, with a state, a nonce and a PKCE challenge that only this session knows."""

    def __init__(self, **kwargs: Any) -> None:
        # The library's own would ask the provider here, before its faults can be caught.
        super(OIDCAuthenticationRequestView, self).__init__(**kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        count_attempt(request)
        self.OIDC_OP_AUTH_ENDPOINT = self.get_settings("OIDC_OP_AUTHORIZATION_ENDPOINT")
        self.OIDC_RP_CLIENT_ID = self.get_settings("OIDC_RP_CLIENT_ID")
        return super().get(request)


class FinishSignIn(_OnlyWithProvider, OIDCAuthenticationCallbackView):
    """Back from the provider; only an identity that a directory linked to an account gets a session."""

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            # RFC 9207, section 2.4: an answer that names its issuer must name ours.
            if request.GET.get("iss", settings.OIDC_PROVIDER.issuer) != settings.OIDC_PROVIDER.issuer:
                raise IdentityRefused("the answer comes from another issuer")
            return super().get(request)
        except NotLinked as unlinked:
            return self._without_account(request, str(unlinked))
        except IdentityRefused as refused:
            log.warning("sign-in refused: %s", refused)
            return failed(request, "refused", 403)
        except SuspiciousOperation:
            return failed(request, "expired", 400)

    def login_success(self) -> HttpResponse:
        # Signing in as somebody else empties the session; the sign-out still needs the token.
        token = self.request.session.get(ID_TOKEN)
        answer = super().login_success()
        self.request.session[ID_TOKEN] = token
        self.request.session.pop(UNLINKED, None)
        return answer

    def login_failure(self) -> HttpResponse:
        return failed(self.request, "cancelled" if self.request.GET.get("error") else "expired", 400)

    def _without_account(self, request: HttpRequest, subject: str) -> HttpResponse:
        token = request.session.get(ID_TOKEN)
        logout(request)
        request.session[UNLINKED], request.session[ID_TOKEN] = subject, token
        return redirect("no-account")


def failed(request: HttpRequest, why: str, status: int) -> HttpResponse:
    """The page that says why signing in did not work; `why` is away, refused, expired or cancelled."""
    context = {"why": why, "provider": settings.OIDC_PROVIDER.name}
    return render(request, "portal/sign_in_failed.html", context, status=status)
