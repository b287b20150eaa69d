"""One job: how it went, what to change, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.outcomes.selectors import outcomes_of_run
from analysis.rollups.selectors import site_now
from analysis.selectors import measurements_of
from analysis.waiting.selectors import shown_hold
from education.selectors import current_lessons, current_programs
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.selectors import reach_of, visible_jobs
from portal.access import open_run, openable_jobs, owner_for, person
from portal.charts.advice_outcomes import outcome_rows
from portal.charts.work_requests import of_whole_work
from portal.failed_work import unmade_report
from portal.pages.job.answer import answer
from portal.pages.job.figures import shown_figures
from portal.pages.job.forms import NoteForm, ShareForm
from portal.pages.job.hardware import node_page
from portal.pages.job.logged import logged_runs
from portal.pages.job.people import note_part, people
from portal.pages.job.performance_links import performance_links
from portal.pages.job.raw_link import raw_link
from portal.pages.job.running import asked_left_job, asked_running_job, left_page, running_page, runs_again
from portal.pages.job.same_work import neighbours, other_runs, same_work
from portal.pages.job.waited import waited_text
from portal.unsaved import take_unsaved
from reports.job_report import with_lessons
from reports.models import Report
from reports.reader import page_for
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS
from reports.services.links import report_url


@require_GET
@login_required
def job(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """The report of one run with the lessons of today, or what is known of the run while it has no report yet.

    A job that still runs has its running page here, also until its record arrives; its
    earlier attempts are asked for by their numbers.
    """
    running = asked_running_job(request, cluster, job_id)
    if running is not None:
        return running_page(request, running)
    left = asked_left_job(request, cluster, job_id)
    if left is not None:
        return left_page(request, left)
    run = open_run(request, cluster, job_id)
    unsaved = take_unsaved(request, reverse("job", args=[cluster, job_id]), ("note", "share", "feedback"))
    more = _typed(*unsaved) if unsaved and (run.user_id == person(request).pk or unsaved[0] == "feedback") else None
    if more:
        messages.info(request, "Not saved yet: you were signed out when you sent this. It is in its form below.")
    return job_page(request, run, more)


def _typed(form: str, fields: dict[str, str]) -> dict[str, object]:
    """The forms with what was sent after the session had ended."""
    if form == "note":
        return {"note_form": NoteForm(fields), "is_note_open": True}
    if form == "share":
        return {"share_form": ShareForm(fields), "is_share_open": True}
    return {"refused_answer": {"code": fields.get("code", ""), "comment": fields.get("comment", "")}}


def job_page(request: HttpRequest, run: Job, more: Mapping[str, object] | None = None) -> HttpResponse:
    """The page of a run that this person may open; `more` replaces parts of it, such as a form that was refused."""
    now, row = timezone.now(), report_row(run)
    attempts = openable_jobs(person(request), now).filter(cluster=run.cluster, job_id=run.job_id).order_by("attempt")
    context: dict[str, Any] = {"run": run, "attempts": attempts, "raw": raw_link(run)}
    context["analysis_links"] = performance_links(run)
    context |= people(run, person(request), now) | note_part(run, person(request))
    visible = visible_jobs(person(request))
    context |= {"runs_again": runs_again(request, run, now)}
    context |= {"neighbours": neighbours(run, visible), "logged": logged_runs(run, person(request))}
    if row:
        others = other_runs(run, visible)
        reach = reach_of(person(request))
        outcomes = outcome_rows(outcomes_of_run(run.pk, reach))
        waited = waited_text(shown_hold(run.pk, reach), is_owner=run.user_id == reach.user_id)
        context |= _report_part(request, run, row) | {"same_work": same_work(run, others), "outcomes": outcomes}
        context |= {"waited": waited, "of_work": of_whole_work(run, visible, site_now()) if others else ""}
    else:
        context |= {"unmade": unmade_report(run), "is_end_known": run.state in ENDED_STATES}
    return render(request, "portal/job/job.html", context | dict(more or {}))


def _report_part(request: HttpRequest, run: Job, row: Report) -> dict[str, object]:
    """What the page shows of a report; the measurements are read once for all of it."""
    measured = measurements_of(run)
    report = with_lessons(report_value(row, measured), current_lessons(), current_programs())
    return {
        "page": page_for(report, owner_for(request, run), timezone.get_current_timezone()),
        "answer": answer(report),
        "figures": shown_figures(run, report, measured, person(request).theme),
        "downloads": {name: report_url(run, name) for name in FORMATS},
        "hardware": node_page(measured, run.nodes, request.GET),
    }
