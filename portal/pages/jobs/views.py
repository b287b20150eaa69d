"""Jobs: the runs a person may see, narrowed and sorted by what stands in the address."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.selectors import reach_of
from portal.pages.jobs.filter import JobFilter
from portal.pages.jobs.rows import chosen_address, job_page


@require_GET
@login_required
def my_jobs(request: HttpRequest) -> HttpResponse:
    """Own jobs and those of projects this person leads, a page at a time; an array is one row."""
    reach = reach_of(request.user)
    form = JobFilter(reach, request.GET)
    context = {
        "page": job_page(form, request.GET),
        "form": form,
        "address": chosen_address(request.GET).urlencode(),
        "leads": bool(reach.led),
    }
    return render(request, "portal/jobs/jobs.html", context)
