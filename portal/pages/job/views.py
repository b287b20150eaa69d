"""One job: how it went, what to change, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from analysis.outcomes.selectors import outcomes_of_run
from analysis.rollups.selectors import site_now
from analysis.selectors import feedback_of, measurements_of
from analysis.waiting.models import IdleHold
from analysis.waiting.rule import COUNTED_EXACTLY, shown_count
from analysis.waiting.selectors import shown_hold
from education.selectors import current_lessons, current_programs
from jobs.experiments.selectors import runs_of_job, visible_experiments
from jobs.models import Job, User
from jobs.notes.selectors import own_note, version_of
from jobs.records import ENDED_STATES
from jobs.selectors import led_projects, openings_of, reach_of, shares_of, visible_jobs
from metrics.selectors import raw_windows_held
from portal.access import open_run, openable_jobs, owner_for, person, signed_in_page
from portal.charts.advice_outcomes import outcome_rows
from portal.charts.logged_runs import ShownRun, run_label, seconds_of, status_of
from portal.charts.work_requests import of_whole_work
from portal.failed_work import unmade_report
from portal.pages.job.answer import answer
from portal.pages.job.figures import shown_figures
from portal.pages.job.forms import NoteForm, ShareForm
from portal.pages.job.hardware import node_page
from portal.pages.job.running import asked_left_job, asked_running_job, left_page, running_page, runs_again
from portal.pages.job.same_work import neighbours, other_runs, same_work
from portal.unsaved import take_unsaved
from reports.job_report import with_lessons
from reports.models import Report
from reports.reader import page_for
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS
from reports.services.links import raw_samples_url, run_url

DATA_FORMATS = {"csv": "CSV row", "json": "JSON for models"}
"""By how the address ends: the row of the run, and its learning document."""

MINUTE_S, LOGGED_LISTED = 60, 20


@signed_in_page
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
        "downloads": {name: run_url("api-report", run, name) for name in FORMATS},
        "hardware": node_page(measured, run.nodes, request.GET),
    }


def performance_links(run: Job) -> dict[str, str]:
    """Addresses by the name of the format; none of a run that has not ended."""
    if run.state not in ENDED_STATES:
        return {}
    return {name: run_url("api-job-performance", run, ending) for ending, name in DATA_FORMATS.items()}


def waited_text(hold: IdleHold | None, *, is_owner: bool) -> str:
    """The sentence, never who waited or how many people; empty where nothing may be shown."""
    if hold is None or hold.could_start is None:
        return ""
    count = shown_count(hold.could_start)
    jobs = f"up to {count}" if hold.could_start < COUNTED_EXACTLY else f"{count:,} or more"
    gpus = "this GPU" if hold.idle_gpus == 1 else f"these {hold.idle_gpus:,} GPUs"
    left = "one GPU" if hold.idle_gpus == 1 else "GPUs"
    return (
        f"While {'your' if is_owner else 'this'} job left {left} idle, jobs of other people that fit there waited:"
        f" {jobs} of them could probably have started on {gpus}. This is an estimate: Slurm may have kept them waiting"
        " for other reasons, such as cores, memory or priorities."
    )


@dataclass(frozen=True)
class RawLink:
    """`kept_until` is None where they are kept for ever, `page_url` empty where no page of the site draws them."""

    url: str
    page_url: str
    minutes: int
    kept_until: datetime | None


def raw_link(run: Job) -> RawLink | None:
    """The link for whoever may see the run; None while nothing is held of it."""
    held = None if run.is_told_by_owner else raw_windows_held((run.cluster, run.job_id, run.attempt))
    if held is None:
        return None
    until = held.received_at + timedelta(days=settings.RAW_DAYS) if settings.RAW_DAYS else None
    page_url = run_url("raw-window", run) if settings.RAW_ON_PAGE else ""
    return RawLink(raw_samples_url(run), page_url, max(round(held.longest_s / MINUTE_S), 1), until)


def people(run: Job, user: User, now: datetime) -> dict[str, object]:
    """For everybody who may open the run; what is the owner's alone is empty for others."""
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


def note_part(run: Job, user: User) -> dict[str, object]:
    """The owner's note and tags and the form for them; nothing for anybody else."""
    if run.user_id != user.pk:
        return {}
    note = own_note(run, user)
    tags = sorted((tag.name for tag in note.tags.all()), key=str.casefold) if note else []
    form = NoteForm(initial={"text": note.text if note else "", "tags": ", ".join(tags), "version": version_of(note)})
    return {"note": note, "tags": tags, "note_form": form}


@dataclass(frozen=True)
class LoggedRuns:
    """The first runs of a job, and whether there are more."""

    rows: tuple[ShownRun, ...]
    has_more: bool


def logged_runs(job: Job, user: User) -> LoggedRuns:
    """The runs in the order of their beginnings: one query."""
    seen = runs_of_job(job).filter(experiment__in=visible_experiments(user).values("pk")).select_related("experiment")
    now = timezone.now()
    found = list(seen.defer("params", "tags")[: LOGGED_LISTED + 1])
    rows = (ShownRun(run, run_label(run), status_of(run), seconds_of(run, now)) for run in found[:LOGGED_LISTED])
    return LoggedRuns(tuple(rows), len(found) > LOGGED_LISTED)
