"""The access checks of every page and call: to a run, and of staff to their pages; a stranger gets 404."""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import wraps
from typing import TypeVar

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from education.models import Lesson
from education.selectors import lesson_row
from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.selectors import visible_experiments, visible_runs
from jobs.models import Grant, Job, JobOpening, Membership, User
from jobs.selectors import led_projects, own_memberships, shared_jobs, visible_jobs
from jobs.services import record_opening
from reports.models import Report
from reports.selectors import report_row

View = Callable[..., HttpResponse]
AnyView = TypeVar("AnyView", bound=Callable[..., HttpResponseBase])
Row = TypeVar("Row")
_with_form = require_http_methods(["GET", "HEAD", "POST"])


def person(request: HttpRequest) -> User:
    """Who is signed in: behind `login_required` and in the API somebody is. Raises PermissionDenied else."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied("Nobody is signed in.")
    return user


def or_404(row: Row | None, why: str) -> Row:
    """The row; Http404 with the reason where there is none."""
    if row is None:
        raise Http404(why)
    return row


def visible_run(request: HttpRequest, cluster: str, job_id: int) -> Job:
    """One of the runs that this person sees as owner or PI: the latest attempt, or the one in `?attempt=`.

    Http404 if there is none.
    """
    return _asked_for(visible_jobs(person(request)), request, cluster, job_id)


def own_run(request: HttpRequest, cluster: str, job_id: int) -> Job:
    """A run with which only its owner may do something; Http404 for everybody else."""
    user = person(request)
    return _asked_for(visible_jobs(user).filter(user=user), request, cluster, job_id)


def open_run(request: HttpRequest, cluster: str, job_id: int) -> Job:
    """A run to view: a visible one, or for support one that its owner shares. The owner can see who viewed it."""
    user, now = person(request), timezone.now()
    run = _asked_for(openable_jobs(user, now), request, cluster, job_id)
    if run.user_id != user.pk:
        leads = led_projects(user).filter(pk=run.project_id).exists()
        record_opening(run, user, JobOpening.Role.PI if leads else JobOpening.Role.SUPPORT, now)
    return run


def owner_for(request: HttpRequest, run: Job) -> str:
    """The name of the owner where somebody else reads of a run; empty for the owner."""
    return "" if run.user_id == person(request).pk else run.user.username


def openable_jobs(user: User, now: datetime) -> QuerySet[Job]:
    """The runs that this person may open one by one: the visible ones, and for support those shared with it."""
    return visible_jobs(user) | shared_jobs(user, now)


def note_openings(request: HttpRequest, runs: Iterable[Job]) -> None:
    """The owner of a run sees who opened what was measured of it, wherever it is shown."""
    user, now = person(request), timezone.now()
    for run in runs:
        if run.user_id != user.pk:
            record_opening(run, user, JobOpening.Role.PI, now)


def _asked_for(runs: QuerySet[Job], request: HttpRequest, cluster: str, job_id: int) -> Job:
    runs = runs.filter(cluster=cluster, job_id=job_id).order_by("-attempt")
    attempt = request.GET.get("attempt", "")
    if attempt:
        runs = runs.filter(attempt=int(attempt)) if attempt.isdecimal() and len(attempt) < 9 else runs.none()
    return or_404(runs.first(), "There is no such job here.")


def open_report(request: HttpRequest, cluster: str, job_id: int) -> tuple[Job, Report]:
    """A run and its report; Http404 while there is none."""
    run = open_run(request, cluster, job_id)
    return run, or_404(report_row(run), "This job has no report yet.")


def visible_experiment(request: HttpRequest, pk: int) -> Experiment:
    """An experiment that this person sees; Http404 for any other."""
    found = visible_experiments(person(request)).filter(pk=pk).first()
    return or_404(found, "There is no such experiment here.")


def visible_experiment_run(request: HttpRequest, run_id: str) -> ExperimentRun:
    """A run that this person sees, as a script logged it; Http404 for any other."""
    found = visible_runs(person(request)).select_related("parent").filter(run_id=run_id).first()
    return or_404(found, "There is no such run here.")


def work_and_latest(request: HttpRequest, key: str) -> tuple[QuerySet[Job], Job]:
    """The runs of its owner that this person sees, and the newest run of this work; Http404 for a stranger."""
    visible = visible_jobs(person(request))
    found = visible.filter(work_key=key).order_by("-ended_at", "-pk").first()
    latest = or_404(found, "There is no such work here.")
    return visible.filter(user=latest.user_id), latest


def membership_of(user: User, project: str) -> Membership:
    """The person's role in a project; Http404 for a stranger, the same as for a project that does not exist."""
    membership = own_memberships(user).filter(project__name=project).first()
    return or_404(membership, "There is no such project here.")


def staff_only(view: View) -> View:
    """A page for staff: other people get 404, and people who are not signed in may sign in first."""
    return _only(view, lambda user: user.is_staff)


def administrators_page(view: View) -> View:
    """A page that shows something to administrators."""
    return require_GET(_only(view, lambda user: user.is_superuser))


def signed_in_page(view: AnyView) -> AnyView:
    """A page that shows something to whoever is signed in."""
    return require_GET(login_required(view))


def signed_in_form(view: AnyView) -> AnyView:
    """The same with a form that comes back to its own address."""
    return _with_form(login_required(view))


def staff_page(view: View) -> View:
    """A page that shows something to staff."""
    return require_GET(staff_only(view))


def staff_form(view: View) -> View:
    """The same with a form that comes back to its own address."""
    return _with_form(staff_only(view))


def site_page(view: View) -> View:
    """A page that shows something to staff and policy readers."""
    return require_GET(_only(view, reads_the_site))


def policy_page(view: View) -> View:
    """A page that shows something to policy readers and administrators."""
    return require_GET(_only(view, reads_the_policy))


def reads_the_policy(user: User | AnonymousUser) -> bool:
    """Whether somebody is a policy reader or an administrator.

    Support is not: it sees by name whose flag is raised, and so could tell whose key is whose.
    """
    if user.is_superuser or not isinstance(user, User):
        return user.is_superuser
    return Grant.objects.filter(user=user, role=Grant.Role.POLICY).exists()


def reads_the_site(user: User | AnonymousUser) -> bool:
    """Whether somebody is staff or a policy reader."""
    if user.is_staff or not isinstance(user, User):
        return user.is_staff
    return Grant.objects.filter(user=user, role=Grant.Role.POLICY).exists()


def _only(view: View, is_one: Callable[[User | AnonymousUser], bool]) -> View:
    @wraps(view)
    def checked(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if not is_one(request.user):
            raise Http404("There is no such page.")
        return view(request, *args, **kwargs)

    return login_required(checked)


def lesson_of(code: str, language: str) -> Lesson:
    """The stored lesson of this code and language; Http404 when there is none."""
    return or_404(lesson_row(code, language), "There is no such lesson.")
