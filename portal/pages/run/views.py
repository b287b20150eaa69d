"""One run that a script logged: how far it came, beside what its GPUs did; its parameters, files, what is not kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone

from jobs.experiments.limits import KEY_LENGTH_MAX, METRICS_MAX
from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.points import Digest, Series
from jobs.experiments.rules import NoSuchRun
from jobs.experiments.selectors import artifacts_of, digests_of, own_run, series_of, visible_runs
from jobs.experiments.services.runs import delete_run
from jobs.experiments.status import OPEN
from jobs.models import User
from jobs.selectors import reach_of
from jobs.shown_text.joiners import shortened
from portal.access import note_openings, person, signed_in_page, visible_experiment_run
from portal.charts.logged_runs import JobLink, job_links, run_label, seconds_of, shown, status_of
from portal.charts.progress import progress_of_runs, runs_at_once, stretches_of
from portal.charts.reaching import reached_by, target_in
from portal.form_addresses import DeleteForm, own_change
from portal.pages.run.timeline import OF_RUN, WHOLE, timeline
from wire.numbers import counted
from wire.safe_text import printable_lines

UPDATES = 60
"""So many minutes an open page of a run that goes on updates itself."""

CHILDREN_LISTED = 20

DRAWN_USUAL, DRAWN_MAX = 2, 6
METRICS_LISTED, TEXTS_LISTED = 25, 200
TEXT_SHOWN_MAX = 500


@signed_in_page
def run(request: HttpRequest, run_id: str) -> HttpResponse:
    """The page of one run; 404 for a stranger."""
    found, user, now = visible_experiment_run(request, run_id), person(request), timezone.now()
    links = job_links([found], reach_of(user)).get(found.pk, ())
    note_openings(request, (link.job for link in links if link.job is not None))
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
        "files": list(artifacts_of(found)),
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


@signed_in_page
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


@own_change
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


@dataclass(frozen=True)
class MetricRow:
    """One metric of a run: what is exact of it, and whether it is drawn."""

    name: str
    label: str
    digest: Digest
    is_drawn: bool


@dataclass(frozen=True)
class Text:
    """A parameter or tag as it is shown."""

    name: str
    value: str


def drawn_metrics(query: QueryDict, digests: Mapping[str, Digest]) -> list[str]:
    """The metrics that an address asks for, else the usual ones; those that this run has."""
    asked = list(dict.fromkeys(name for name in query.getlist("metric")[: 4 * DRAWN_MAX] if name in digests))
    return asked[:DRAWN_MAX] or _usual(digests)


def _usual(digests: Mapping[str, Digest]) -> list[str]:
    """Losses first, then the metrics with most points."""
    names = sorted(digests, key=lambda name: ("loss" not in name.lower(), -digests[name].count, name))
    return names[:DRAWN_USUAL]


def metric_rows(query: QueryDict, digests: Mapping[str, Digest], drawn: Sequence[str]) -> Page[MetricRow]:
    """One page of the metrics whose name holds `?find=`, those that are drawn first."""
    word = query.get("find", "")[:KEY_LENGTH_MAX].lower()
    names = [name for name in digests if word in name.lower()]
    names.sort(key=lambda name: (name not in drawn, name))
    rows = [MetricRow(name, shown(name), digests[name], name in drawn) for name in names]
    return Paginator(rows, METRICS_LISTED).get_page(query.get("metrics"))


def texts_of(texts: Mapping[str, str]) -> list[Text]:
    """Parameters or tags by name, as many as are listed."""
    found = sorted(texts.items())[:TEXTS_LISTED]
    return [Text(shown(name), shortened(printable_lines(value), TEXT_SHOWN_MAX)) for name, value in found]


def remarks(run: ExperimentRun, digests: Mapping[str, Digest], series: Mapping[str, Series]) -> list[str]:
    """What was left out, and what is odd, in sentences."""
    found = []
    if run.points_dropped:
        points, verb = counted(run.points_dropped, "point"), "is" if run.points_dropped == 1 else "are"
        found.append(f"{points} of metrics beyond the first {METRICS_MAX:,} names {verb} not kept.")
    if run.points_thinned:
        points = counted(run.points_thinned, "point")
        found.append(
            f"{points} did not fit while the portal had too much to store: the first, last, least and greatest of each"
            " call are kept."
        )
    if run.odd_times:
        points = counted(run.odd_times, "point")
        found.append(f"{points} had an impossible time and got that of their arrival.")
    thinned = [name for name, one in series.items() if one.is_thinned]
    if thinned:
        found.append(
            f"Of {', '.join(map(shown, thinned))} more points arrived than are kept: the curve shows the extremes of"
            " neighbours; last, least and greatest value are exact."
        )
    return found + _lost_values(digests)


def _lost_values(digests: Mapping[str, Digest]) -> list[str]:
    """Which metrics became NaN for good."""
    lost = [(name, digest) for name, digest in sorted(digests.items()) if digest.nan_since_step is not None]
    said = [f"{shown(name)} is NaN since step {digest.nan_since_step:,}." for name, digest in lost[:3]]
    if len(lost) > len(said):
        said.append(f"So are {counted(len(lost) - len(said), 'more metric')}.")
    return said
