"""A grant report as a page, and as an accessible PDF by the way of the job reports."""

from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from reports.grant.figures import draw, figure_names, figure_text
from reports.grant.report import GrantReport
from reports.grant.wording import ADVISORY, allocation_lines, headline, period, tables, title
from reports.numbers import instant
from reports.services.pdf import html_pdf
from reports.services.rendering import data_uri, file_style

FIRST_PAGE = ("use",)
"""The tables on the first page, before the first figure."""


def shown(report: GrantReport) -> dict[str, Any]:
    """What the page and the PDF are made from; every string is escaped there."""
    return {
        "report": report,
        "title": title(report),
        "period": period(report),
        "headline": headline(report),
        "allocation_lines": allocation_lines(report),
        "first_tables": [table for table in tables(report) if table.key in FIRST_PAGE],
        "more_tables": [table for table in tables(report) if table.key not in FIRST_PAGE],
    }


def figures(report: GrantReport) -> list[dict[str, str]]:
    """Each figure as an image with its text."""
    return [
        {"name": name, "text": figure_text(report, name), "url": data_uri(draw(report, name))}
        for name in figure_names(report)
    ]


def grant_pdf(report: GrantReport) -> bytes:
    """PDF/UA-1; PdfUnavailable as in `reports.services.pdf`."""
    about = {
        **{"figures": figures(report), "made_at": instant(report.made_at), "advisory": ADVISORY},
        # Our own files: the only markup that is not escaped.
        "style": mark_safe(file_style()),  # noqa: S308 (see the line above)
    }
    return html_pdf(render_to_string("reports/grant_report.html", shown(report) | about))
