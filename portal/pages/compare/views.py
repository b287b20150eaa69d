"""Two to four runs side by side: how they ended, what differs between their requests, their use and their findings."""

from __future__ import annotations

from http import HTTPStatus

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
from portal.pages.compare.selection import RUNS_MIN, Selection, selected, selection_address
from portal.pages.compare.side import side
from portal.pages.compare.use_chart import use_chart
from reports.services.links import run_key

OFFERED = 8


@require_GET
@login_required
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison of the runs in the address, without those that are not found.

    Where too few or too many are left it is a page to choose others; with status 404 where none of them is found.
    """
    names = [name for name in request.GET.getlist("job") if name]
    chosen = selected(visible_jobs(person(request)).select_related("efficiency", "user"), names)
    if chosen.problem:
        return _choice(request, chosen)
    runs = list(chosen.runs)
    _note_openings(runs, person(request))
    sides = [side(run) for run in runs]
    values = [run_value(run) for run in runs]
    rows = option_rows(values)
    context = {
        "sides": sides,
        "missing": chosen.missing,
        "address": selection_address(runs),
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
    return [(run, selection_address([other for other in runs if other.pk != run.pk])) for run in runs]


def _note_openings(runs: list[Job], user: User) -> None:
    """The owner of a run sees who opened it, here as on its own page."""
    now = timezone.now()
    for run in runs:
        if run.user_id != user.pk:
            record_opening(run, user, JobOpening.Role.PI, now)


def _choice(request: HttpRequest, chosen: Selection) -> HttpResponse:
    """The chosen runs and the latest others to choose from."""
    latest = LatestFirst(reach_of(person(request)))[0:OFFERED]
    keys = {run_key(run) for run in chosen.runs}
    runs = [*chosen.runs, *(run for run in latest if run_key(run) not in keys)]
    context = {
        "problem": chosen.problem,
        "missing": chosen.missing,
        "is_chosen": bool(keys),
        "offered": [(run_key(run), run, run_key(run) in keys) for run in runs],
    }
    status = HTTPStatus.NOT_FOUND if chosen.missing and not chosen.runs else HTTPStatus.OK
    return render(request, "portal/compare/choose.html", context, status=status)
