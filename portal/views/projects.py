"""Projects: those a person belongs to."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs.selectors import allocations_of, own_memberships
from portal.parts.allocation_line import allocation_line


@require_GET
@login_required
def projects(request: HttpRequest) -> HttpResponse:
    """The projects of this person, with the role in each and the GPU-hours of each."""
    memberships, today = list(own_memberships(request.user)), timezone.localdate()
    allocations = allocations_of([membership.project for membership in memberships])
    rows = [(membership, allocation_line(allocations.get(membership.project_id), today)) for membership in memberships]
    return render(request, "portal/projects.html", {"memberships": rows})
