"""One job: its report, its figures, its downloads."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET

from analysis.selectors import feedback_of
from education.selectors import current_lessons
from jobs.models import Job, User
from jobs.selectors import led_projects, openings_of, shares_of, visible_jobs
from metrics.selectors import gpu_rows, host_rows
from portal.access import open_report, open_run, openable_jobs
from portal.charts.pictures import drawn_as, sources
from portal.forms.job import ShareForm
from portal.links import figure_url, report_url
from portal.parts.same_work import same_work
from reports.layout import layout
from reports.lessons import with_lessons
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS, FigureView, figure, figure_views

GPUS_SHOWN_MAX, NODES_SHOWN_MAX, RUNS_SHOWN_MAX = 64, 16, 5


@require_GET
@login_required
def job(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """The report of one run with the lessons of today, or what is known of the run while it has no report yet."""
    run, now = open_run(request, cluster, job_id), timezone.now()
    row = report_row(run)
    report = with_lessons(report_value(row), current_lessons()) if row else None
    attempts = openable_jobs(request.user, now).filter(cluster=cluster, job_id=job_id).order_by("attempt")
    context = {"run": run, "is_portal": True, "attempts": attempts, **_people(run, request.user, now)}
    if report:
        context |= {
            "page": layout(report, timezone.get_current_timezone()),
            "figures": [_figure(run, view, request.user.theme) for view in figure_views(run, report)],
            "downloads": {name: report_url(run, name) for name in FORMATS},
            **_details(run),
            "same_work": same_work(run, _other_runs(run, visible_jobs(request.user))),
        }
    return render(request, "portal/job.html", context)


def _figure(run: Job, view: FigureView, theme: str) -> dict[str, object]:
    """A figure with the addresses of its pictures, and its numbers for the script that reads them out."""
    *special, plain = sources(figure_url(run, view.name), theme)
    numbers = asdict(view.reading) if view.reading else None
    return {"view": view, "sources": special, "plain": plain, "numbers": numbers, "numbers_id": f"{view.name}-numbers"}


def _people(run: Job, user: User, now: datetime) -> dict[str, object]:
    """What people did with this run: what they said of it, whether support may look, and who did."""
    is_owner = run.user_id == user.pk
    shares = list(shares_of(run))
    held = [share for share in shares if share.revoked_at is None and share.expires_at > now]
    said = list(feedback_of(run))
    return {
        "is_owner": is_owner,
        "share": held[0] if held else None,
        "ended_shares": [share for share in shares if share not in held] if is_owner else [],
        "share_form": ShareForm(),
        "openings": openings_of(run) if is_owner else None,
        "may_answer": is_owner or led_projects(user).filter(pk=run.project_id).exists(),
        "my_answers": [answer for answer in said if answer.user_id == user.pk],
        "other_answers": [answer for answer in said if answer.user_id != user.pk],
    }


def _details(run: Job) -> dict[str, object]:
    """Every GPU and host, as many as a page can show; the API has them all."""
    key = (run.cluster, run.job_id, run.attempt)
    gpus = gpu_rows(key, GPUS_SHOWN_MAX + 1)
    hosts = host_rows(key, NODES_SHOWN_MAX)
    return {"gpus": gpus[:GPUS_SHOWN_MAX], "has_more_gpus": len(gpus) > GPUS_SHOWN_MAX, "hosts": hosts}


def _other_runs(run: Job, visible: QuerySet[Job]) -> list[Job]:
    """The latest other runs of the same work."""
    if not run.work_key:
        return []
    same = visible.filter(user=run.user, work_key=run.work_key)
    return list(same.exclude(pk=run.pk).select_related("efficiency").order_by("-ended_at", "-pk")[:RUNS_SHOWN_MAX])


@require_GET
@login_required
@cache_control(private=True, max_age=300)
def job_figure(request: HttpRequest, cluster: str, job_id: int, name: str) -> HttpResponse:
    """One figure of a visible report, as an SVG image."""
    run, row = open_report(request, cluster, job_id)
    if name not in report_value(row).figures:
        raise Http404("This report has no such figure.")
    size, is_dark = drawn_as(request.GET)
    return HttpResponse(figure(run, name, size, is_dark=is_dark), content_type="image/svg+xml")
