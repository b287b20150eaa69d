"""Experiments: the list, one experiment with its runs as a table, and what its owner changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from jobs.experiments.limits import NAME_LENGTH_MAX
from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.rules import NoSuchExperiment, NotAccepted
from jobs.experiments.selectors import own_experiment, visible_experiments
from jobs.experiments.services.experiments import change_experiment, delete_experiment
from jobs.experiments.status import Status
from jobs.selectors import own_projects, reach_of
from portal.access import person, signed_in_page, visible_experiment
from portal.charts.logged_runs import STATUS_WORDS, shown
from portal.charts.progress import by_size
from portal.form_addresses import DeleteForm, own_change
from portal.pages.experiments.choices import OF_METRIC, OF_PARAM, OF_TAG, VALUES, RunChoices, choices_in
from portal.pages.experiments.query import offered_columns
from portal.pages.experiments.rows import TableColumns, columns_of, run_page

LISTED = 50
SIGNS = {"ascending": "\N{BLACK UP-POINTING SMALL TRIANGLE}", "descending": "\N{BLACK DOWN-POINTING SMALL TRIANGLE}"}
HEADS = (("name", "Run"), ("status", "Status"), ("started", "Started"), ("duration", "Duration"))

Change = Callable[[HttpRequest, Experiment], HttpResponse]

ONLY_ME, PI, MEMBERS = "", "pi", "members"
AUDIENCES = ((PI, "its PI"), (MEMBERS, "its PI and all members"))


@dataclass(frozen=True)
class Head:
    """The head of a column, with the address that sorts by it; `way` is how the table is sorted by it now."""

    label: str
    url: str
    way: str = ""
    is_number: bool = False

    @property
    def sign(self) -> str:
        """The way as a sign."""
        return SIGNS.get(self.way, "")


@dataclass(frozen=True)
class OfferedColumn:
    """A column that can be chosen."""

    name: str
    label: str
    is_on: bool


@signed_in_page
def experiments(request: HttpRequest) -> HttpResponse:
    """The experiments that this person sees, the one that changed last first."""
    found = _with_last_run(visible_experiments(person(request)))
    page = Paginator(found, LISTED).get_page(request.GET.get("page"))
    for row in page:
        row.last_words = STATUS_WORDS[Status(row.last_status)] if row.last_status else ""
    return render(request, "portal/experiments/experiments.html", {"page": page})


def _with_last_run(found: QuerySet[Experiment]) -> QuerySet[Experiment, Any]:
    last = ExperimentRun.objects.filter(experiment=OuterRef("pk")).order_by("-started_at", "-pk")
    counted = found.annotate(run_count=Count("runs"), last_heard_at=Max("runs__heard_at"))
    return counted.annotate(last_status=Subquery(last.values("status")[:1])).order_by("-changed_at", "-pk")


@signed_in_page
def experiment(request: HttpRequest, pk: int) -> HttpResponse:
    """One experiment with its runs; 404 for a stranger."""
    found, user = visible_experiment(request, pk), person(request)
    choices, offered = choices_in(request.GET), offered_columns(found)
    columns = columns_of(offered, choices)
    page = run_page(found, choices, columns, reach_of(user), timezone.now())
    context = {
        "experiment": found,
        "choices": choices,
        "page": page,
        "sizes": by_size(row.shown.progress for row in page.rows),
        "heads": _heads(choices, columns),
        "statuses": list(STATUS_WORDS.items()),
        "value_names": list(VALUES.items()),
        "offered_params": _offered(offered.params, columns.params),
        "offered_metrics": _offered(offered.metrics, columns.metrics),
        "offered_tags": _offered(offered.tags, columns.tags),
        "has_seed": columns.has_seed,
        "offered": offered,
        "address": choices.address(),
        "previous": choices.address(page=page.number - 1) if page.number > 1 else None,
        "next": choices.address(page=page.number + 1) if page.number < page.pages else None,
    }
    if found.owner_id == user.pk:
        context |= _forms(found)
    return render(request, "portal/experiments/experiment.html", context)


def _heads(choices: RunChoices, columns: TableColumns) -> list[Head]:
    """The heads of the table in its order."""
    fixed = [_head(choices, name, label) for name, label in HEADS]
    seed = [_head(choices, "seed", "Seed")] if columns.has_seed else []
    params = [_head(choices, f"{OF_PARAM}{name}", shown(name, 30)) for name in columns.params]
    tags = [_head(choices, f"{OF_TAG}{name}", shown(name, 30)) for name in columns.tags]
    ending = {"last": "", "least": ", least", "most": ", greatest"}[columns.value]
    metrics = [_head(choices, f"{OF_METRIC}{name}", shown(name, 30) + ending) for name in columns.metrics]
    costs = [Head(name, "", is_number=True) for name in ("GPU-hours", "Per second", "GPU-h per 1,000")]
    return [*fixed, *costs, *seed, *params, *tags, *metrics, Head("Jobs", "")]


def _head(choices: RunChoices, sort: str, label: str) -> Head:
    is_here = choices.sorted_by == sort
    other_way = is_here and not choices.is_backward
    way = ("descending" if choices.is_backward else "ascending") if is_here else ""
    url = choices.address(sort=f"-{sort}" if other_way else sort)
    return Head(label, f"?{url}", way, is_number=sort == "seed" or sort.startswith((OF_METRIC, OF_PARAM, OF_TAG)))


def _offered(names: tuple[str, ...], chosen: tuple[str, ...]) -> list[OfferedColumn]:
    """The chosen names first, then the others that are offered."""
    others = [name for name in names if name not in chosen]
    return [OfferedColumn(name, shown(name), name in chosen) for name in [*chosen, *others]]


def _forms(found: Experiment) -> dict[str, object]:
    """What only its owner may do with an experiment."""
    projects = list(own_projects(found.owner).values_list("name", flat=True))
    initial = {
        "project": found.project.name if found.project else "",
        "audience": MEMBERS if found.is_shared else PI,
    }
    return {
        "is_owner": True,
        "rename_form": RenameForm(initial={"name": found.name}),
        "sharing_form": SharingForm(projects, initial=initial),
        "delete_form": DeleteForm(),
        "has_projects": bool(projects),
    }


def _of_owner(change: Change) -> Callable[..., HttpResponseBase]:
    """Takes what a form on the page of an experiment sends; 404 for everybody but its owner."""

    @own_change
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
    projects = list(own_projects(person(request)).values_list("name", flat=True))
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


class RenameForm(forms.Form):
    """The name of an experiment."""

    name = forms.CharField(max_length=NAME_LENGTH_MAX, label="Name")


class SharingForm(forms.Form):
    """Which project of the owner sees an experiment, and who of it."""

    project = forms.ChoiceField(required=False, label="Project")
    audience = forms.ChoiceField(choices=AUDIENCES, label="Who of it sees the runs", widget=forms.RadioSelect)

    def __init__(self, projects: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(ONLY_ME, "none: only you see it"), *((name, name) for name in projects)]
        cast("forms.ChoiceField", self.fields["project"]).choices = names
