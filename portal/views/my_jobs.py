"""My jobs: the runs a person may see, newest first."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.efficiency import EfficiencyClass
from jobs.selectors import led_projects, visible_jobs
from portal.links import job_url

PAGE_SIZE = 25


@require_GET
@login_required
def my_jobs(request: HttpRequest) -> HttpResponse:
    """Own jobs and those of projects this person leads, a page at a time, by class if one is chosen."""
    runs = visible_jobs(request.user).select_related("efficiency")
    chosen = request.GET.get("class", "")
    if chosen in EfficiencyClass.__members__:
        runs = runs.filter(efficiency__efficiency_class=chosen)
    else:
        chosen = ""
    page = Paginator(runs.order_by("-ended_at", "-pk"), PAGE_SIZE).get_page(request.GET.get("page"))
    for run in page:
        run.url = job_url(run)
    return render(
        request,
        "portal/my_jobs.html",
        {
            "page": page,
            "classes": [name.value for name in EfficiencyClass],
            "chosen": chosen,
            "leads": led_projects(request.user).exists(),
        },
    )
