"""One run that a script logged: how far it came, beside what its GPUs did."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from portal.access import visible_experiment_run


@require_GET
@login_required
def run(request: HttpRequest, run_id: str) -> HttpResponse:
    """The page of one run; 404 for a stranger."""
    return render(request, "portal/run/run.html", {"run": visible_experiment_run(request, run_id)})
