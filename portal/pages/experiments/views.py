"""Experiments: the list, and one experiment with its runs."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.experiments.selectors import visible_experiments
from portal.access import person, visible_experiment


@require_GET
@login_required
def experiments(request: HttpRequest) -> HttpResponse:
    """The experiments that this person sees, the one that changed last first."""
    found = visible_experiments(person(request)).order_by("-changed_at", "-pk")
    return render(request, "portal/experiments/experiments.html", {"experiments": found})


@require_GET
@login_required
def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    """One experiment with its runs; 404 for a stranger."""
    found = visible_experiment(request, pk)
    runs = found.runs.order_by("-started_at", "-pk")
    return render(request, "portal/experiments/experiment.html", {"experiment": found, "runs": runs})
