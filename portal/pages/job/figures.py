"""The figures on a job's page: the pictures, their numbers for the scripts, and where findings are marked on them."""

from dataclasses import asdict, dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control

from analysis.selectors import measurements_of
from jobs.models import Job
from metrics.series import RunMetrics
from portal.access import open_report, signed_in_page
from portal.charts.pictures import Source, drawn_as, sources
from reports.figure_marks import Entry, figure_marks, mark_list
from reports.figure_readings import Reading
from reports.job_report import JobReport
from reports.selectors import report_value
from reports.services.formats import FigureView, figure, figure_views
from reports.services.links import run_url

OVER_TIME = "gpu_use"
SIZES = {"wide": (720, 270), "broad": (1140, 235), "narrow": (420, 290)}
"""Of each drawing, in the units of a picture's attributes: a page keeps the room before the picture is there."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure with the addresses of its pictures; `numbers` are for the script that reads them out."""

    view: FigureView
    special: list[Source]
    plain: Source
    size: tuple[int, int]
    numbers: dict[str, object] | None
    numbers_id: str
    marks: tuple[Entry, ...]


def shown_figures(run: Job, report: JobReport, measured: RunMetrics, theme: str) -> dict[str, ShownFigure]:
    """The figures of a report by name; the one of use over time is as broad as the page."""
    marks = mark_list(report)
    return {view.name: _shown(run, view, theme, marks) for view in figure_views(run, report, measured)}


def _shown(run: Job, view: FigureView, theme: str, marks: tuple[Entry, ...]) -> ShownFigure:
    is_broad = view.name == OVER_TIME
    widest = "broad" if is_broad else "wide"
    *special, plain = sources(run_url("figure", run, view.name), theme, widest)
    numbers = _numbers(view.reading) if view.reading else None
    on_it = marks if is_broad else ()
    return ShownFigure(view, special, plain, SIZES[widest], numbers, f"{view.name}-numbers", on_it)


def _numbers(reading: Reading) -> dict[str, object]:
    """What the scripts read; where the courses hold the values, of the texts only the times are sent."""
    numbers = asdict(reading)
    if reading.courses:
        numbers["texts"] = [text.partition(": ")[0] for text in reading.texts]
    return numbers


@signed_in_page
@cache_control(private=True, max_age=300)
def job_figure(request: HttpRequest, cluster: str, job_id: int, name: str) -> HttpResponse:
    """One figure of a visible report, as an SVG image."""
    run, row = open_report(request, cluster, job_id)
    measured = measurements_of(run)
    report = report_value(row, measured)
    if name not in report.figures:
        raise Http404("This report has no such figure.")
    size, is_dark = drawn_as(request.GET)
    drawn = figure(run, name, measured, size, marks=figure_marks(report), is_dark=is_dark)
    return HttpResponse(drawn, content_type="image/svg+xml")
