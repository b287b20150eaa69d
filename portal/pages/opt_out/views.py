"""Stopping all mail without signing in: a page that asks for confirmation, and the POST that does it (RFC 8058)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from portal.access import or_404
from reports.mail.services.preferences import opt_out
from reports.services.links import opt_out_user


# A mail program posts without our cookie; the signed address itself shows that the request is intended.
@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def opt_out_page(request: HttpRequest, token: str) -> HttpResponse:
    """GET changes nothing, because scanners open every link of a message; POST stops the mail at once."""
    person = or_404(opt_out_user(token), "This link is not valid.")
    if request.method == "POST":
        opt_out(person)
    return render(request, "portal/opt_out/opt_out.html", {"person": person, "is_done": request.method == "POST"})
