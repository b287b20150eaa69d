"""Experiments: the list, and one experiment with its runs as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.selectors import sharable_projects, visible_experiments
from jobs.experiments.status import Status
from jobs.selectors import reach_of
from portal.access import person, visible_experiment
from portal.charts.logged_runs import STATUS_WORDS, shown
from portal.charts.progress import by_size
from portal.confirmation import DeleteForm
from portal.pages.experiments.choices import OF_METRIC, OF_PARAM, OF_TAG, VALUES, RunChoices, choices_in
from portal.pages.experiments.forms import MEMBERS, PI, RenameForm, SharingForm
from portal.pages.experiments.query import offered_columns
from portal.pages.experiments.rows import TableColumns, columns_of, run_page

LISTED = 50
SIGNS = {"ascending": "\N{BLACK UP-POINTING SMALL TRIANGLE}", "descending": "\N{BLACK DOWN-POINTING SMALL TRIANGLE}"}
HEADS = (("name", "Run"), ("status", "Status"), ("started", "Started"), ("duration", "Duration"))


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


@require_GET
@login_required
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


@require_GET
@login_required
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
    projects = list(sharable_projects(found.owner).values_list("name", flat=True))
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
