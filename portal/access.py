"""The way of every page and call to a run, and of staff to their pages; a stranger finds nothing there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse

from education.models import Lesson
from education.selectors import lesson_row
from jobs.models import Job, Membership, User
from jobs.selectors import own_memberships, visible_jobs
from reports.models import Report
from reports.selectors import report_row


def visible_run(request: HttpRequest, cluster: str, job_id: int) -> Job:
    """The run this person may see: the latest attempt, or the one that `?attempt=` names; else Http404."""
    runs = visible_jobs(request.user).filter(cluster=cluster, job_id=job_id).order_by("-attempt")
    attempt = request.GET.get("attempt", "")
    if attempt:
        runs = runs.filter(attempt=int(attempt)) if attempt.isdecimal() and len(attempt) < 9 else runs.none()
    run = runs.first()
    if run is None:
        raise Http404("There is no such job here.")
    return run


def visible_report(request: HttpRequest, cluster: str, job_id: int) -> tuple[Job, Report]:
    """A visible run and its report; Http404 while there is none."""
    run = visible_run(request, cluster, job_id)
    row = report_row(run)
    if row is None:
        raise Http404("This job has no report yet.")
    return run, row


def membership_of(user: User, project: str) -> Membership:
    """What this person is in a project; Http404 for a stranger, as for a project that does not exist."""
    membership = own_memberships(user).filter(project__name=project).first()
    if membership is None:
        raise Http404("There is no such project here.")
    return membership


def staff_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for staff: other people find nothing there, and who is not signed in may sign in first."""

    @wraps(view)
    def checked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not request.user.is_staff:
            raise Http404("There is no such page.")
        return view(request, *args, **kwargs)

    return login_required(checked)


def lesson_of(code: str, language: str) -> Lesson:
    """The stored lesson of this code and language; Http404 when there is none."""
    row = lesson_row(code, language)
    if row is None:
        raise Http404("There is no such lesson.")
    return row
