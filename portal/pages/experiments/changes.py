"""What the owner of an experiment changes: its name, who sees it, and whether it is there at all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from jobs.experiments.models import Experiment
from jobs.experiments.rules import NoSuchExperiment, NotAccepted
from jobs.experiments.selectors import own_experiment, sharable_projects
from jobs.experiments.services.experiments import change_experiment, delete_experiment
from portal.access import person
from portal.confirmation import DeleteForm
from portal.pages.experiments.forms import MEMBERS, RenameForm, SharingForm
from portal.rate_limits import CHANGES, limited

Change = Callable[[HttpRequest, Experiment], HttpResponse]


def _of_owner(change: Change) -> Callable[..., HttpResponseBase]:
    """Takes what a form on the page of an experiment sends; 404 for everybody but its owner."""

    @require_POST
    @login_required
    @limited(CHANGES)
    @wraps(change)
    def checked(request: HttpRequest, pk: int) -> HttpResponse:
        try:
            return change(request, own_experiment(person(request), int(pk)))
        except NoSuchExperiment:
            raise Http404("There is no such experiment here.") from None

    return checked


@_of_owner
def rename_experiment(request: HttpRequest, experiment: Experiment) -> HttpResponse:
    """Give the experiment another name."""
    form = RenameForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Not renamed: {form.errors['name'][0]}")
        return redirect("experiment", experiment.pk)
    try:
        change_experiment(person(request), experiment.pk, timezone.now(), name=form.cleaned_data["name"])
    except NoSuchExperiment:
        raise
    except NotAccepted as error:
        messages.error(request, f"Not renamed: {error}.")
    else:
        messages.success(request, "Renamed. Scripts that use the old name make a new experiment.")
    return redirect("experiment", experiment.pk)


@_of_owner
def share_experiment(request: HttpRequest, experiment: Experiment) -> HttpResponse:
    """Let a project of the owner see the experiment, or nobody."""
    projects = list(sharable_projects(person(request)).values_list("name", flat=True))
    form = SharingForm(projects, request.POST)
    if not form.is_valid():
        messages.error(request, "Nothing changed: choose one of your projects.")
        return redirect("experiment", experiment.pk)
    project = form.cleaned_data["project"]
    is_shared = form.cleaned_data["audience"] == MEMBERS
    if is_shared and not project and not experiment.project_id:
        messages.error(request, "Nothing changed: choose the project whose members see it.")
        return redirect("experiment", experiment.pk)
    # Who takes the project away shares with nobody, whatever stood beside it.
    is_shared = is_shared and bool(project)
    change_experiment(person(request), experiment.pk, timezone.now(), project=project, is_shared=is_shared)
    who = f"all members of {project} see" if is_shared else f"the PI of {project} sees"
    messages.success(request, f"From now on {who} this experiment." if project else "Only you see this experiment now.")
    return redirect("experiment", experiment.pk)


@_of_owner
def remove_experiment(request: HttpRequest, experiment: Experiment) -> HttpResponse:
    """Delete the experiment with everything that its runs logged."""
    if not DeleteForm(request.POST).is_valid():
        messages.error(request, "Nothing was deleted: confirm that you are sure.")
        return redirect("experiment", experiment.pk)
    delete_experiment(person(request), experiment.pk)
    messages.success(request, "The experiment and its runs were deleted.")
    return redirect("experiments")
