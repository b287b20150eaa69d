"""Two to four runs side by side: how they ended, what differs between their requests, their use and their findings."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.works.differences import are_own_options, option_rows
from analysis.works.selectors import run_value
from jobs.models import Job, JobOpening, User
from jobs.selectors import LatestFirst, reach_of, visible_jobs
from jobs.services import record_opening
from portal.access import person
from portal.pages.compare.selection import RUNS_MIN, named_run, problem_of, selection
from portal.pages.compare.side import side
from portal.pages.compare.use_chart import use_chart
from reports.services.links import run_key

OFFERED = 8
TWICE = "The same job stands there twice: choose different ones."


@require_GET
@login_required
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison of the runs in the address; where they cannot be compared, a page to choose others."""
    names = [name for name in request.GET.getlist("job") if name]
    if problem := problem_of(names):
        return _choice(request, names, problem)
    visible = visible_jobs(person(request)).select_related("efficiency")
    runs = [named_run(visible, name) for name in names]
    if len({run.pk for run in runs}) < len(runs):
        return _choice(request, names, TWICE)
    _note_openings(runs, person(request))
    sides = [side(run) for run in runs]
    values = [run_value(run) for run in runs]
    rows = option_rows(values)
    context = {
        "sides": sides,
        "without": _without(runs),
        "different": [row for row in rows if not row.is_same],
        "same": [row for row in rows if row.is_same],
        "are_own": are_own_options(values),
        "chart": use_chart([each.use for each in sides]),
    }
    return render(request, "portal/compare/compare.html", context)


def _without(runs: list[Job]) -> list[tuple[Job, str]]:
    """Each run with the address that compares the others; nothing where too few would be left."""
    if len(runs) <= RUNS_MIN:
        return []
    return [(run, selection([other for other in runs if other.pk != run.pk])) for run in runs]


def _note_openings(runs: list[Job], user: User) -> None:
    """The owner of a run sees who opened it, here as on its own page."""
    now = timezone.now()
    for run in runs:
        if run.user_id != user.pk:
            record_opening(run, user, JobOpening.Role.PI, now)


def _choice(request: HttpRequest, names: list[str], problem: str) -> HttpResponse:
    """The latest runs to choose from, those of the address chosen already."""
    offered = [(run_key(run), run) for run in LatestFirst(reach_of(person(request)))[0:OFFERED]]
    keys = {key for key, _ in offered}
    chosen = {name if name in keys else f"{name}.0" for name in names}
    others = [name for name in dict.fromkeys(names) if not {name, f"{name}.0"} & keys]
    context = {"problem": problem, "offered": offered, "chosen": chosen, "others": others}
    return render(request, "portal/compare/choose.html", context)
