"""The outbox, for support staff: which messages went, wait or failed, and nothing of what they say."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from portal.access import staff_only
from reports.models import Delivery
from reports.selectors import outbox

PAGE_SIZE = 50


@require_GET
@staff_only
def outbox_page(request: HttpRequest) -> HttpResponse:
    """Every message by time, the newest first, by state if one is chosen."""
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in Delivery.State.values else ""
    page = Paginator(outbox(chosen), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(request, "portal/outbox.html", {"page": page, "states": Delivery.State.choices, "chosen": chosen})
