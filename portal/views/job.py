"""One job: its report, its figures, its downloads."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from education.selectors import current_lessons
from jobs.selectors import visible_jobs
from portal.access import visible_report, visible_run
from portal.links import figure_url, report_url
from reports.layout import layout
from reports.lessons import with_lessons
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS, figure


@require_GET
@login_required
def job(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """The report of one run with the lessons of today, or what is known of the run while it has no report yet."""
    run = visible_run(request, cluster, job_id)
    row = report_row(run)
    report = with_lessons(report_value(row), current_lessons()) if row else None
    attempts = visible_jobs(request.user).filter(cluster=cluster, job_id=job_id).order_by("attempt")
    return render(
        request,
        "portal/job.html",
        {
            "run": run,
            "is_portal": True,
            "attempts": attempts,
            "page": layout(report) if report else None,
            "figures": [
                {"url": figure_url(run, name), "text": text}
                for name, text in (report.figure_texts if report else {}).items()
            ],
            "downloads": {name: report_url(run, name) for name in FORMATS} if report else {},
        },
    )


@require_GET
@login_required
@cache_control(private=True, max_age=300)
def job_figure(request: HttpRequest, cluster: str, job_id: int, name: str) -> HttpResponse:
    """One figure of a visible report, as an SVG image."""
    run, row = visible_report(request, cluster, job_id)
    if name not in report_value(row).figures:
        raise Http404("This report has no such figure.")
    return HttpResponse(figure(run, name), content_type="image/svg+xml")
