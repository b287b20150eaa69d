"""A stored report in the format someone asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analysis.selectors import judged_metrics
from jobs.models import Job
from reports.as_json import report_json
from reports.figure_data import figure_data, has_numbers
from reports.figure_readings import Reading, Table, readout
from reports.figures import draw, draw_png
from reports.job_report import JobReport
from reports.markdown import report_markdown
from reports.models import Report
from reports.selectors import report_value
from reports.services.pdf import report_pdf
from reports.services.rendering import report_html
from reports.text import report_text


@dataclass(frozen=True)
class Format:
    """One way to write a report; `is_illustrated` formats carry the figures."""

    content_type: str
    write: Callable[..., str | bytes]
    is_illustrated: bool = False


@dataclass(frozen=True)
class FigureView:
    """A figure on a page: what it shows in words, what is read off it, and its table; None once it has no numbers."""

    name: str
    text: str
    reading: Reading | None = None
    table: Table | None = None


FORMATS = {
    "html": Format("text/html; charset=utf-8", report_html, is_illustrated=True),
    "md": Format("text/markdown; charset=utf-8", report_markdown),
    "txt": Format("text/plain; charset=utf-8", report_text),
    "pdf": Format("application/pdf", report_pdf, is_illustrated=True),
    "json": Format("application/json", report_json),
}


def rendered(job: Job, row: Report, name: str) -> bytes:
    """The report of a run the caller may see, as one of `FORMATS`; a PDF is made once and kept with the report."""
    if name == "pdf" and row.pdf:
        return bytes(row.pdf)
    chosen, report = FORMATS[name], report_value(row)
    content = chosen.write(report, figures(job, report)) if chosen.is_illustrated else chosen.write(report)
    content = content.encode() if isinstance(content, str) else content
    if name == "pdf":
        Report.objects.filter(pk=row.pk, efficiency_revision=row.efficiency_revision).update(pdf=content)
    return content


def figures(job: Job, report: JobReport) -> dict[str, bytes]:
    """Every figure of the report as SVG, by name."""
    if not report.figures:
        return {}
    data = figure_data(judged_metrics(job))
    return {name: draw(name, data, "wide") for name in report.figures}


def figure(job: Job, name: str, size: str = "wide", *, is_dark: bool = False) -> bytes:
    """One figure of a run as SVG, drawn from the measurements that were judged."""
    return draw(name, figure_data(judged_metrics(job)), size, is_dark=is_dark)


def figure_png(job: Job, name: str) -> bytes:
    """One figure of a run for a message."""
    return draw_png(name, figure_data(judged_metrics(job)))


def figure_views(job: Job, report: JobReport) -> tuple[FigureView, ...]:
    """The figures of a report with their numbers, from the measurements that `figure` draws."""
    if not report.figures:
        return ()
    data = figure_data(judged_metrics(job))
    return tuple(
        FigureView(name, text, *readout(name, data)) if has_numbers(name, data) else FigureView(name, text)
        for name, text in report.figure_texts.items()
    )
