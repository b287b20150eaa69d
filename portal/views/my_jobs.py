"""Jobs: the runs a person may see, narrowed and sorted by what stands in the address."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.selectors import led_projects, visible_jobs
from portal.job_filter import JobFilter
from portal.links import job_url

PAGE_SIZE = 25


@require_GET
@login_required
def my_jobs(request: HttpRequest) -> HttpResponse:
    """Own jobs and those of projects this person leads, a page at a time."""
    form = JobFilter(visible_jobs(request.user), request.GET)
    page = Paginator(form.chosen().select_related("efficiency"), PAGE_SIZE).get_page(request.GET.get("page"))
    for run in page:
        run.url = job_url(run)
    address = request.GET.copy()
    address.pop("page", None)
    leads = led_projects(request.user).exists()
    context = {"page": page, "form": form, "address": address.urlencode(), "leads": leads}
    return render(request, "portal/my_jobs.html", context)
