"""A stored report in the requested format."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils import timezone

from analysis.selectors import judged_metrics, measurements_of
from jobs.models import Job
from metrics.series import RunMetrics
from reports.as_json import report_json
from reports.figure_data import FigureData, figure_data, has_numbers
from reports.figure_marks import Mark, figure_marks
from reports.figure_readings import Reading, Table, readout
from reports.figures import draw
from reports.job_report import JobReport
from reports.markdown import report_markdown
from reports.models import Report
from reports.selectors import report_value
from reports.services.pdf import report_pdf
from reports.services.pdf_store import store_pdf, stored_pdf
from reports.services.rendering import report_html
from reports.text import report_text


@dataclass(frozen=True)
class Format:
    """One way to write a report; `is_illustrated` formats carry the figures, and people do not read `is_data`."""

    content_type: str
    write: Callable[..., str | bytes]
    is_illustrated: bool = False
    is_data: bool = False


@dataclass(frozen=True)
class FigureView:
    """A figure on a page: its description, its readings, and its table; None where it has no numbers."""

    name: str
    text: str
    reading: Reading | None = None
    table: Table | None = None


FORMATS = {
    "html": Format("text/html; charset=utf-8", report_html, is_illustrated=True),
    "md": Format("text/markdown; charset=utf-8", report_markdown),
    "txt": Format("text/plain; charset=utf-8", report_text),
    "pdf": Format("application/pdf", report_pdf, is_illustrated=True),
    "json": Format("application/json", report_json, is_data=True),
}


def rendered(job: Job, row: Report, name: str, owner: str = "", **wanted: int) -> bytes:
    """The report of a run the caller may see, as one of `FORMATS`; `owner` is the owner's name for other readers.
    `wanted` is what the format takes, such as the `width` of text.

    The PDF for the owner is made once and stored for some time; the one for others is made for each request.
    """
    is_stored = name == "pdf" and not owner
    if is_stored and (stored := stored_pdf(row, timezone.now())):
        return stored
    chosen = FORMATS[name]
    measured = measurements_of(job) if chosen.is_illustrated else None
    report = report_value(row, measured)
    parts = (figures(job, report, measured),) if measured else ()
    content = chosen.write(report, *parts) if chosen.is_data else chosen.write(report, *parts, owner, **wanted)
    content = content.encode() if isinstance(content, str) else content
    if is_stored:
        store_pdf(row, content, timezone.now())
    return content


def figures(
    job: Job, report: JobReport, measured: RunMetrics, drawn: Callable[[str, FigureData], bytes] = draw
) -> dict[str, bytes]:
    """Every figure of the report by name, from what was `measured` of the run: as SVG, or as it is `drawn`."""
    if not report.figures:
        return {}
    data = figure_data(judged_metrics(job, measured), figure_marks(report))
    return {name: drawn(name, data) for name in report.figures}


def figure(
    job: Job,
    name: str,
    measured: RunMetrics,
    size: str = "wide",
    *,
    marks: tuple[Mark, ...] = (),
    is_dark: bool = False,
) -> bytes:
    """One figure of a run as SVG, drawn from what was `measured` of it, without what its judgement set aside."""
    return draw(name, figure_data(judged_metrics(job, measured), marks), size, is_dark=is_dark)


def figure_views(job: Job, report: JobReport, measured: RunMetrics) -> tuple[FigureView, ...]:
    """The figures of a report with their numbers, from what was `measured` of the run: the numbers `figure` draws."""
    if not report.figures:
        return ()
    data = figure_data(judged_metrics(job, measured), figure_marks(report))
    return tuple(
        FigureView(name, text, *readout(name, data)) if has_numbers(name, data) else FigureView(name, text)
        for name, text in report.figure_texts.items()
    )
