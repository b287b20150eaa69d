"""The sign-in page: a button to the provider if one is configured, otherwise a form for local accounts."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.sign_in.services import sweep_sessions
from portal.sign_in import attempts as throttle
from portal.sign_in.provider import the_provider

UNLINKED = "unlinked_subject"


def sign_in(request: HttpRequest) -> HttpResponse:
    """With a provider there is no form, and passwords are not accepted."""
    page: Callable[[HttpRequest], Any] = provider_page if settings.OIDC_PROVIDER else local_page
    answer: HttpResponse = page(request)
    return answer


@never_cache
@require_safe
def provider_page(request: HttpRequest) -> HttpResponse:
    """One button, which remembers the page that the person wanted."""
    following = wanted_page(request)
    query = f"?{urlencode({'next': following})}" if following else ""
    start = reverse("sign-in-start") + query
    return render(
        request,
        "portal/sign_in/sign_in_provider.html",
        {"provider": the_provider().name, "start": start, "next": query, "has_public_page": settings.PUBLIC_PAGE},
    )


def wanted_page(request: HttpRequest) -> str:
    """The page that the person wanted, if it is a page of ours."""
    asked = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(asked, {request.get_host()}, require_https=request.is_secure())
    return asked if is_ours else ""


@never_cache
@require_safe
def no_account(request: HttpRequest) -> HttpResponse:
    """Why a person with a valid identity cannot see anything yet."""
    subject = request.session.get(UNLINKED)
    if settings.OIDC_PROVIDER is None or subject is None:
        return redirect("sign-in")
    return render(request, "portal/sign_in/no_account.html", {"subject": subject, "provider": the_provider().name})


class LocalSignIn(LoginView):
    """Name and password, with a limited number of attempts."""

    template_name = "portal/sign_in/sign_in.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"has_public_page": settings.PUBLIC_PAGE}

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        self._taken = throttle.take(request, request.POST.get("username", ""))
        return super().post(request, *args, **kwargs) if self._taken else throttle.too_many(request)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        throttle.give_back(self._taken)
        sweep_sessions(timezone.now())
        return super().form_valid(form)


local_page = LocalSignIn.as_view()
