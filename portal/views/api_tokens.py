"""Settings: the tokens by which a person's own programs read the API, and their own runs send measurements."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from jobs.accounts.services import revoke_api_token
from jobs.models import ApiToken
from jobs.selectors import own_api_tokens
from portal.api_tokens import SENDING_PREFIX, issue_token
from portal.forms.settings import TokenForm
from portal.limits import CHANGES, seconds_to_wait, too_often


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def api_tokens(request: HttpRequest) -> HttpResponse:
    """The tokens that hold; a new one stands in the very answer that made it, and is kept nowhere."""
    if request.method == "POST" and (wait_s := seconds_to_wait(CHANGES, request)):
        return too_often(request, wait_s)
    form, now, secret = TokenForm(request.user, request.POST or None), timezone.now(), ""
    if form.is_valid():
        try:
            secret = issue_token(request.user, now=now, **form.cleaned_data)
            form = TokenForm(request.user)
        except IntegrityError:  # the same form was sent twice at once
            form.add_error("name", "You have a token of this name now.")
    context = {
        **{"form": form, "tokens": own_api_tokens(request.user), "now": now, "secret": secret},
        "is_sending": secret.startswith(SENDING_PREFIX),
        "may_send": settings.OWN_RUNS,
        "send_kind": ApiToken.Kind.SEND,
    }
    return render(request, "portal/api_tokens.html", context)


@require_POST
@login_required
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Nobody is let in with it from now on."""
    token = get_object_or_404(own_api_tokens(request.user), pk=pk)
    revoke_api_token(token, timezone.now())
    done = "sent" if token.kind == ApiToken.Kind.SEND else "read"
    messages.success(request, f"Revoked. Nothing is {done} with “{token.name}” any longer.")
    return redirect("api-tokens")
