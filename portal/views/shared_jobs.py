"""The jobs that their owners share with support at this moment."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs.selectors import open_shares
from portal.access import staff_only
from portal.links import job_url

PAGE_SIZE = 50


@require_GET
@staff_only
def shared_jobs_page(request: HttpRequest) -> HttpResponse:
    """The latest first, each with what its owner would like to know."""
    page = Paginator(open_shares(timezone.now()), PAGE_SIZE).get_page(request.GET.get("page"))
    for share in page:
        share.url = job_url(share.job)
    return render(request, "portal/shared_jobs.html", {"page": page})
