"""Two to four runs side by side: how they ended, what differs between their requests, their use and their findings."""

from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.models import JobEfficiency
from analysis.selectors import judged_metrics
from analysis.works.differences import are_own_options, option_rows
from analysis.works.selectors import run_value
from jobs.models import Job
from jobs.selectors import LatestFirst, reach_of, record_of, visible_jobs
from portal.access import note_openings, person, signed_in_page
from portal.pages.compare.selection import RUNS_MIN, Selection, selected, selection_address
from portal.pages.compare.use_chart import ENDED, STILL_RUNNING, UseOfRun, use_chart, use_of_run
from reports.job_report import FindingView
from reports.numbers import unmeasured_hours, used_hours
from reports.sections import css_class, judged_name
from reports.selectors import made_report, report_row
from reports.services.links import run_key
from wire.numbers import NOT_MEASURED

OFFERED = 8


@signed_in_page
def compare(request: HttpRequest) -> HttpResponse:
    """The comparison of the runs in the address, without those that are not found.

    Where too few or too many are left it is a page to choose others; with status 404 where none of them is found.
    """
    names = [name for name in request.GET.getlist("job") if name]
    chosen = selected(visible_jobs(person(request)).select_related("efficiency", "user"), names)
    if chosen.problem:
        return _choice(request, chosen)
    runs = list(chosen.runs)
    note_openings(request, runs)
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


@dataclass(frozen=True)
class Side:
    """What stands in one column; `judged` is None while there is no judgement, `findings` while there is no report.

    `class_name` and `css_class` are as on the run's own page, empty while there is no report.
    """

    run: Job
    key: str
    judged: JobEfficiency | None
    class_name: str
    css_class: str
    findings: tuple[FindingView, ...] | None
    wait_s: float | None
    use: UseOfRun

    @property
    def used_gpu_hours(self) -> float | None:
        """Billed GPU-hours that were used; None where the use or the bill is not known."""
        if self.judged is None or self.judged.gpu_hours is None or self.judged.wasted_gpu_hours is None:
            return None
        billed, judged = self.judged.gpu_hours, self.judged
        unmeasured = unmeasured_hours(billed, judged.coverage_fraction, is_partial=judged.is_partial)
        return used_hours(billed, judged.wasted_gpu_hours or 0.0, unmeasured)


def side(run: Job) -> Side:
    """A run the caller may see, its measurements read once."""
    judged, row = getattr(run, "efficiency", None), report_row(run)
    report = made_report(row) if row else None
    course = bytes(judged.use_course) if judged and judged.use_course else None
    return Side(
        run=run,
        key=run_key(run),
        judged=judged,
        class_name=judged_name(report) if report else "",
        css_class=css_class(report) if report else "",
        findings=report.findings if report else None,
        wait_s=record_of(run).queue_wait_s,
        use=use_of_run(
            f"Job {run.job_id}", run.walltime_used_s, judged_metrics(run), course, after_last=_after_last(run)
        ),
    )


def _after_last(run: Job) -> str:
    """What is known of the run at times past those of its record."""
    if run.started_at is None:
        return NOT_MEASURED
    return ENDED if run.ended_at is not None else STILL_RUNNING
