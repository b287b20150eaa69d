"""The access checks of every page and call: to a run, and of staff to their pages; a stranger gets 404."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

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


def person(request: HttpRequest) -> User:
    """Who is signed in: behind `login_required` and in the API somebody is. Raises PermissionDenied else."""
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied("Nobody is signed in.")
    return user


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


def _asked_for(runs: QuerySet[Job], request: HttpRequest, cluster: str, job_id: int) -> Job:
    runs = runs.filter(cluster=cluster, job_id=job_id).order_by("-attempt")
    attempt = request.GET.get("attempt", "")
    if attempt:
        runs = runs.filter(attempt=int(attempt)) if attempt.isdecimal() and len(attempt) < 9 else runs.none()
    run = runs.first()
    if run is None:
        raise Http404("There is no such job here.")
    return run


def open_report(request: HttpRequest, cluster: str, job_id: int) -> tuple[Job, Report]:
    """A run and its report; Http404 while there is none."""
    run = open_run(request, cluster, job_id)
    row = report_row(run)
    if row is None:
        raise Http404("This job has no report yet.")
    return run, row


def visible_experiment(request: HttpRequest, pk: int) -> Experiment:
    """An experiment that this person sees; Http404 for any other."""
    found = visible_experiments(person(request)).filter(pk=pk).first()
    if found is None:
        raise Http404("There is no such experiment here.")
    return found


def visible_experiment_run(request: HttpRequest, run_id: str) -> ExperimentRun:
    """A run that this person sees, as a script logged it; Http404 for any other."""
    found = visible_runs(person(request)).select_related("parent").filter(run_id=run_id).first()
    if found is None:
        raise Http404("There is no such run here.")
    return found


def membership_of(user: User, project: str) -> Membership:
    """The person's role in a project; Http404 for a stranger, the same as for a project that does not exist."""
    membership = own_memberships(user).filter(project__name=project).first()
    if membership is None:
        raise Http404("There is no such project here.")
    return membership


def staff_only(view: View) -> View:
    """A page for staff: other people get 404, and people who are not signed in may sign in first."""
    return _only(view, lambda user: user.is_staff)


def administrators_only(view: View) -> View:
    """The same for administrators."""
    return _only(view, lambda user: user.is_superuser)


def site_readers_only(view: View) -> View:
    """The same for staff and policy readers."""
    return _only(view, reads_the_site)


def policy_readers_only(view: View) -> View:
    """The same for policy readers and administrators."""
    return _only(view, reads_the_policy)


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
    row = lesson_row(code, language)
    if row is None:
        raise Http404("There is no such lesson.")
    return row
