"""A report as an accessible PDF, made from the same HTML by WeasyPrint."""

from collections.abc import Mapping

from django.template.loader import render_to_string

from reports.job_report import JobReport
from reports.services.rendering import context, data_uri

try:
    from weasyprint import HTML
    from weasyprint.urls import URLFetcher
except OSError as error:  # Pango is a system library, which pip cannot install
    HTML, PANGO_ERROR = None, error

PACKAGES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"


class PdfUnavailable(RuntimeError):
    """This machine cannot make PDFs; the message names what to install."""


def print_html(report: JobReport, figures: Mapping[str, bytes], owner: str = "") -> str:
    """What the PDF is made from; its figures are images, which PDF/UA readers present by their text."""
    shown = {name: {"url": data_uri(svg)} for name, svg in figures.items()}
    return render_to_string("reports/job_report.html", context(report, shown, owner) | {"is_print": True})


def report_pdf(report: JobReport, figures: Mapping[str, bytes], owner: str = "") -> bytes:
    """The report as PDF/UA-1, for readers as `page_for` has them; PdfUnavailable where Pango is missing."""
    return html_pdf(print_html(report, figures, owner))


def html_pdf(html: str) -> bytes:
    """An HTML file as PDF/UA-1; PdfUnavailable where Pango is missing.

    Nothing is fetched while it is made, from the network or from disk: only data: addresses are read.
    """
    if HTML is None:
        raise PdfUnavailable(f"PDF needs Pango: sudo apt-get install --yes {PACKAGES} ({PANGO_ERROR})")
    fetcher = URLFetcher(allowed_protocols=["data"], allow_redirects=False)
    pdf: bytes = HTML(string=html, url_fetcher=fetcher, base_url=None).write_pdf(pdf_variant="pdf/ua-1")
    return pdf
