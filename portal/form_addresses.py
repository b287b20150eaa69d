"""Addresses that only take forms: who gets there by a link, or by signing in again, lands on the page of the form."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST

View = Callable[..., HttpResponseBase]
NOTHING_SAVED = "Nothing was saved. If you had written something here, please write it again."


def form_of_job(view: View) -> View:
    """Takes what a form on a job's page sends; a GET is redirected to that page, its query kept."""
    only_forms = require_POST(view)

    @wraps(view)
    def to_page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            return only_forms(request, cluster=cluster, job_id=job_id)
        if request.user.is_authenticated:
            messages.info(request, NOTHING_SAVED)
        query = request.META.get("QUERY_STRING", "")
        page = reverse("job", args=[cluster, job_id])
        return HttpResponseRedirect(f"{page}?{query}" if query else page)

    return to_page
