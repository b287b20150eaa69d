"""Support: where staff begin, with what waits for them in each place."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from education.selectors import broken_link_count
from jobs.imports.selectors import directory_imports
from jobs.selectors import open_shares
from portal.access import staff_only
from reports.models import Delivery
from reports.selectors import outbox


@require_GET
@staff_only
def support(request: HttpRequest) -> HttpResponse:
    """Every place of staff as a card."""
    context = {
        "shared": open_shares(timezone.now()).count(),
        "failed": outbox(Delivery.State.FAILED).count(),
        "pending": outbox(Delivery.State.PENDING).count(),
        "broken_links": broken_link_count(),
        "last_import": directory_imports().first(),
    }
    return render(request, "portal/support.html", context)
