"""One run that a script logged: how far it came, beside what its GPUs did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.points import Series
from jobs.experiments.rules import NoSuchRun
from jobs.experiments.selectors import digests_of, own_run, series_of, visible_runs
from jobs.experiments.services.runs import delete_run
from jobs.experiments.status import OPEN
from jobs.models import JobOpening, User
from jobs.records import printable_lines
from jobs.selectors import reach_of
from jobs.services import record_opening
from portal.access import person, visible_experiment_run
from portal.charts.logged_runs import JobLink, job_links, run_label, seconds_of, shown, status_of
from portal.charts.progress import progress_of_runs, runs_at_once, stretches_of
from portal.charts.reaching import reached_by, target_in
from portal.confirmation import DeleteForm
from portal.pages.run.parts import TEXTS_LISTED, drawn_metrics, files_of, metric_rows, remarks, texts_of
from portal.pages.run.timeline import OF_RUN, WHOLE, timeline
from portal.rate_limits import CHANGES, limited

UPDATES = 60
"""So many minutes an open page of a run that goes on updates itself."""

CHILDREN_LISTED = 20


@require_GET
@login_required
def run(request: HttpRequest, run_id: str) -> HttpResponse:
    """The page of one run; 404 for a stranger."""
    found, user, now = visible_experiment_run(request, run_id), person(request), timezone.now()
    links = job_links([found], reach_of(user)).get(found.pk, ())
    _note_openings(links, user)
    digests = dict(sorted(digests_of([found])[found.pk].items()))
    drawn = drawn_metrics(request.GET, digests)
    series = series_of(found, drawn)
    part = OF_RUN if request.GET.get("part") == OF_RUN else WHOLE
    rows = metric_rows(request.GET, digests, drawn)
    context = {
        "run": found,
        "label": run_label(found),
        "status": status_of(found),
        "seconds": seconds_of(found, now),
        "links": links,
        "unseen": [link for link in links if link.state and link.job is None],
        "updates": UPDATES if found.status in OPEN else 0,
        "timeline": timeline(found, series, links, now, part),
        "part": part,
        "has_parts": any(link.job is not None for link in links),
        "metrics": rows,
        "find": request.GET.get("find", ""),
        "hidden_drawn": [name for name in drawn if not any(row.name == name for row in rows)],
        "drawn": drawn,
        "drawn_labels": [(name, shown(name)) for name in digests][:TEXTS_LISTED],
        "remarks": remarks(found, digests, series),
        "params": texts_of(found.params),
        "more_params": max(len(found.params) - TEXTS_LISTED, 0),
        "tags": texts_of(found.tags),
        "more_tags": max(len(found.tags) - TEXTS_LISTED, 0),
        "files": files_of(found),
        "is_owner": found.owner_id == user.pk,
        "delete_form": DeleteForm(),
        **_relatives(found, user),
        **_progress(request, found, links, series),
    }
    return render(request, "portal/run/run.html", context)


def _relatives(found: ExperimentRun, user: User) -> dict[str, object]:
    """The run that this one is within, and those within it, as far as the reader sees them."""
    visible = visible_runs(user)
    children = list(visible.filter(parent=found).order_by("started_at", "pk")[: CHILDREN_LISTED + 1])
    parent = visible.filter(pk=found.parent_id).first() if found.parent_id else None
    return {
        "parent": parent,
        "parent_label": run_label(parent) if parent else "",
        "children": [(run_label(child), child) for child in children[:CHILDREN_LISTED]],
        "has_more_children": len(children) > CHILDREN_LISTED,
    }


def _progress(
    request: HttpRequest, found: ExperimentRun, links: Sequence[JobLink], series: Mapping[str, Series]
) -> dict[str, object]:
    """How fast the run got on, and what the value that is asked for cost."""
    by_run = {found.pk: tuple(links)}
    stretches = stretches_of(found, links, is_shared=found.pk in runs_at_once(by_run))
    metric = request.GET.get("of", "")
    metric = metric if metric in series else next(iter(series), "")
    target = target_in(request.GET, metric)
    asked = series.get(metric)
    return {
        "progress": progress_of_runs([found], by_run)[found.pk],
        "target": target,
        "target_metric": metric,
        "reached": reached_by(asked, target, found, stretches),
    }


def _note_openings(links: Iterable[JobLink], user: User) -> None:
    """The owner of a job sees who opened what was measured of it, here as on its own page."""
    now = timezone.now()
    for link in links:
        if link.job is not None and link.job.user_id != user.pk:
            record_opening(link.job, user, JobOpening.Role.PI, now)


@require_GET
@login_required
def kept_text(request: HttpRequest, run_id: str, pk: int) -> HttpResponse:
    """The text of one file that a client uploaded; 404 where nothing was kept, and for a stranger."""
    found = visible_experiment_run(request, run_id)
    file = found.artifacts.filter(pk=pk, kind=Artifact.Kind.KEPT).first()
    if file is None or file.text is None:
        raise Http404("No text of such a file was kept.")
    text = printable_lines(bytes(file.text).decode(errors="replace"))
    return render(
        request, "portal/run/kept_text.html", {"run": found, "label": run_label(found), "file": file, "text": text}
    )


@require_POST
@login_required
@limited(CHANGES)
def remove_run(request: HttpRequest, run_id: str) -> HttpResponse:
    """Delete a run with everything that it logged; 404 for everybody but its owner."""
    try:
        found = own_run(person(request), run_id)
        if not DeleteForm(request.POST).is_valid():
            messages.error(request, "Nothing was deleted: confirm that you are sure.")
            return redirect("run", run_id)
        delete_run(person(request), run_id)
    except NoSuchRun:
        raise Http404("There is no such run here.") from None
    messages.success(request, "The run was deleted.")
    return redirect("experiment", found.experiment_id)
