"""Which days a grant report is about, and its files: shared by the page, the API and the command."""

from collections.abc import Callable
from datetime import date

from portal.downloads import CSV
from reports.as_json import report_json
from reports.grant.report import Allocation, GrantReport
from reports.grant.rows import rows
from reports.grant.services import grant_pdf
from reports.grant.spans import MONTHS_A_YEAR, Span, SpanError, months, span_of
from wire.csv_cells import csv_lines

CONTENT_TYPES = {"json": "application/json", "csv": CSV, "pdf": "application/pdf"}


def asked_span(first: str | None, last: str | None, today: date, allocation: Allocation | None) -> Span:
    """The days that were asked for, or where none were, those of the allocation or else of this year.

    Raises SpanError, also if only one of both is named.
    """
    if first and last:
        return span_of(first, last)
    if first or last:
        raise SpanError("Name both days, “from” and “until”.")
    return allocated_span(allocation) or months(today.replace(month=1, day=1), MONTHS_A_YEAR)


def allocated_span(allocation: Allocation | None) -> Span | None:
    """The days of an allocation; None where they are not known."""
    if allocation is None or allocation.begins_on is None or allocation.ends_on is None:
        return None
    return Span(allocation.begins_on, allocation.ends_on) if allocation.begins_on <= allocation.ends_on else None


def content(report: GrantReport, name: str) -> bytes:
    """A report in one of these formats; KeyError for another, PdfUnavailable where PDFs cannot be made."""
    return WRITERS[name](report)


def file_name(report: GrantReport, name: str) -> str:
    """The name under which a report is saved."""
    return f"kaiku-{report.project}-{report.first}-{report.last}.{name}"


def _csv(report: GrantReport) -> bytes:
    return "".join(csv_lines(rows(report))).encode()


WRITERS: dict[str, Callable[[GrantReport], bytes]] = {"json": report_json, "csv": _csv, "pdf": grant_pdf}
