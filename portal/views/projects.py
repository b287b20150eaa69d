"""Projects: those a person belongs to."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.selectors import own_memberships


@require_GET
@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of this person, with the role in each."""
    return render(request, "portal/projects.html", {"memberships": own_memberships(request.user)})
