"""System: whether everything works, for administrators; the numbers of `/metrics` in words."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from portal.access import administrators_only
from portal.system.concerns import concerns
from portal.system.state import system_state
from portal.system.tables import due_rows, failed_rows, missing_rows, process_rows


@require_GET
@administrators_only
def system(request: HttpRequest) -> HttpResponse:
    """Contains only names of nodes and of kinds of work, and nothing about anybody's jobs."""
    state = system_state(timezone.now())
    context = {
        "state": state,
        "concerns": concerns(state),
        "due": due_rows(state),
        "failed": failed_rows(state),
        "missing": missing_rows(state),
        "processes": process_rows(state),
    }
    return render(request, "portal/system/system.html", context)
