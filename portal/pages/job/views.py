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

from analysis.selectors import feedback_of, measurements_of
from education.selectors import current_lessons
from jobs.models import Job, User
from jobs.selectors import led_projects, openings_of, shares_of, visible_jobs
from portal.access import open_report, open_run, openable_jobs
from portal.charts.pictures import drawn_as, sources
from portal.failed_work import unmade_report
from portal.pages.job.forms import ShareForm
from portal.pages.job.hardware import gpu_table, host_table
from portal.pages.job.raw_link import raw_link
from portal.pages.job.same_work import same_work
from reports.job_report import with_lessons
from reports.layout import layout
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS, FigureView, figure, figure_views
from reports.services.links import figure_url, report_url

GPUS_SHOWN_MAX, NODES_SHOWN_MAX, RUNS_SHOWN_MAX = 64, 16, 5


@require_GET
@login_required
def job(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """The report of one run with the lessons of today, or what is known of the run while it has no report yet."""
    run, now = open_run(request, cluster, job_id), timezone.now()
    row = report_row(run)
    measured = measurements_of(run) if row else None
    report = with_lessons(report_value(row, measured), current_lessons()) if row else None
    attempts = openable_jobs(request.user, now).filter(cluster=cluster, job_id=job_id).order_by("attempt")
    context = {"run": run, "is_portal": True, "attempts": attempts, "raw": raw_link(run)}
    context |= _people(run, request.user, now)
    context |= {"unmade": None if report else unmade_report(run)}
    if report:
        context |= {
            "page": layout(report, timezone.get_current_timezone()),
            "figures": [_figure(run, view, request.user.theme) for view in figure_views(run, report, measured)],
            "downloads": {name: report_url(run, name) for name in FORMATS},
            "gpus": gpu_table(measured, GPUS_SHOWN_MAX),
            "has_more_gpus": measured.gpus.count > GPUS_SHOWN_MAX,
            "hosts": host_table(measured, NODES_SHOWN_MAX),
            "same_work": same_work(run, _other_runs(run, visible_jobs(request.user))),
        }
    return render(request, "portal/job/job.html", context)


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
    measured = measurements_of(run)
    if name not in report_value(row, measured).figures:
        raise Http404("This report has no such figure.")
    size, is_dark = drawn_as(request.GET)
    return HttpResponse(figure(run, name, measured, size, is_dark=is_dark), content_type="image/svg+xml")
