"""The links of the lessons, for staff: which can be reached, since when one cannot, and a check on request."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from education.selectors import checked_links, open_check
from education.services.links import ask_for_check
from portal.access import staff_only


@require_GET
@staff_only
def lesson_links(request: HttpRequest) -> HttpResponse:
    """Each address once, the broken ones first."""
    links = checked_links()
    context = {
        "links": links,
        "broken_count": sum(bool(link.problem) for link in links),
        "last_checked_at": max((link.checked_at for link in links if link.checked_at), default=None),
        "asked": open_check(),
    }
    return render(request, "portal/lessons/lesson_links.html", context)


@require_POST
@staff_only
def check_links(request: HttpRequest) -> HttpResponse:
    """A worker checks all of them within a minute; some take longer to answer than anyone waits for a page."""
    ask_for_check(timezone.now())
    messages.success(request, "Check requested. A worker checks the links within the next minutes.")
    return redirect("lesson-links")
