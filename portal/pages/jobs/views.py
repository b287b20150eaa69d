"""Jobs: the runs a person may see, narrowed and sorted by what stands in the address.

One road: what is offered to this person, the form that reads the address, the query that it asks, the rows it leaves.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.works.selectors import PIPELINE_DAYS
from jobs.saved_filters.models import FILTER_NAME_LENGTH_MAX
from jobs.saved_filters.selectors import own_filters
from portal.access import person
from portal.charts.running import FEW_MAX, running_jobs
from portal.pages.jobs.chips import chips, saved_chips
from portal.pages.jobs.csv_download import csv_of
from portal.pages.jobs.forms import JobFilterForm
from portal.pages.jobs.heads import heads
from portal.pages.jobs.ignored import ignored
from portal.pages.jobs.offered import offered_to
from portal.pages.jobs.pipelines import pipeline_rows
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.rows import job_page
from portal.pages.jobs.saved import taken_name, typed_name
from portal.pages.jobs.works import work_page
from portal.rate_limits import DOWNLOADS, limited


@require_GET
@login_required
def my_jobs(request: HttpRequest) -> HttpResponse:
    """Own jobs and those of projects this person leads, a page at a time; an array is one row."""
    form, query = _asked(request)
    choices, leads = query.choices, bool(query.reach.led)
    context = {
        "form": form,
        "choices": choices,
        "chips": chips(form, choices),
        "ignored": ignored(form),
        "saved": saved_chips(own_filters(person(request)), choices),
        "taken_name": taken_name(request, choices),
        "typed_name": typed_name(request, choices),
        "name_length_max": FILTER_NAME_LENGTH_MAX,
        "heads": heads(choices, has_owner=leads),
        "leads": leads,
        "running": running_jobs(query.reach, timezone.now(), FEW_MAX),
        **_list(query, request),
    }
    return render(request, "portal/jobs/jobs.html", context)


def _list(query: JobQuery, request: HttpRequest) -> dict[str, Any]:
    """The page of the works or of the jobs; `shown` is either, None where it is empty."""
    if query.choices.group:
        works = work_page(query, request.GET.get("page", ""))
        pipelines = [] if query.choices.narrowing else pipeline_rows(query.reach, timezone.now())
        return {"works": works, "shown": works if works.rows else None, "pipelines": pipelines, "days": PIPELINE_DAYS}
    page = job_page(query, request.GET)
    has_tasks = any(row.run.array_job_id is not None for row in page.runs)
    return {
        "page": page,
        "shown": page if page.runs else None,
        "shows_tasks": has_tasks and not query.folds_arrays and not query.choices.array,
    }


@require_GET
@login_required
@limited(DOWNLOADS)
def jobs_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Every run that the same address shows on the page, row by row."""
    _, query = _asked(request)
    disposition = {"Content-Disposition": 'attachment; filename="kaiku-jobs.csv"'}
    return StreamingHttpResponse(csv_of(query), content_type="text/csv; charset=utf-8", headers=disposition)


def _asked(request: HttpRequest) -> tuple[JobFilterForm, JobQuery]:
    """The form as the address fills it in, and the query that it makes."""
    offered = offered_to(person(request), request.GET)
    form = JobFilterForm(request.GET, offered)
    return form, JobQuery(person(request), offered, form.choices(), timezone.localtime())
