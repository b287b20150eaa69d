"""Ending all mail without signing in: a page that asks, and the POST that does it (RFC 8058)."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from reports.mail.services.preferences import opt_out
from reports.services.links import opt_out_user


# A mail program posts without our cookie; the signed address itself shows that the request was meant.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def opt_out_page(request: HttpRequest, token: str) -> HttpResponse:
    """GET changes nothing, since scanners open every link of a message; POST ends the mail at once."""
    person = opt_out_user(token)
    if person is None:
        raise Http404("This link does not belong to anyone here.")
    if request.method == "POST":
        opt_out(person)
    return render(request, "portal/opt_out/opt_out.html", {"person": person, "is_done": request.method == "POST"})
