"""A report as a standalone HTML file: style and figures inside, nothing loaded from anywhere, no script."""

import base64
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from reports.job_report import JobReport
from reports.reader import page_for

STYLE_FILES = ("tokens.css", "report.css")


def report_html(report: JobReport, figures: Mapping[str, bytes], owner: str = "") -> str:
    """The HTML file for readers as `page_for` has them; its figures are SVG inside, with labels to select."""
    # Our own drawings, in which matplotlib has escaped every label.
    shown = {name: {"svg": mark_safe(svg.decode())} for name, svg in figures.items()}  # noqa: S308 (see above)
    return render_to_string("reports/job_report.html", context(report, shown, owner) | {"is_print": False})


def context(report: JobReport, figures: Mapping[str, Mapping[str, str]], owner: str = "") -> dict[str, object]:
    """What both files are made from, the HTML and the one that becomes a PDF; every string is escaped there.

    The use over time stands on the first page, below the answer, as on the page of the job.
    """
    shown = {name: {**figure, "text": report.figure_texts[name]} for name, figure in figures.items()}
    return {
        "page": page_for(report, owner),
        "use_figure": shown.pop("gpu_use", None),
        "figures": tuple(shown.values()),
        # Our own files, not a user's text: the only markup that is not escaped.
        "style": mark_safe(file_style()),  # noqa: S308 (see the line above)
    }


def data_uri(svg: bytes) -> str:
    """An SVG image as an address that holds it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def file_style() -> str:
    """The style of a report that is a file."""
    folder = Path(settings.BASE_DIR, "static", "css")
    return "\n".join((folder / name).read_text() for name in STYLE_FILES)
