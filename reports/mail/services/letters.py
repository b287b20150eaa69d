"""Writing the letter of one message: text, HTML, figures, and the PDF when asked."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.efficiency import EfficiencyClass
from analysis.selectors import measurements_of
from jobs.models import User
from reports.figures import draw_png
from reports.mail.emails import Letter
from reports.mail.services.addressed import addressed
from reports.mail.view import Told, digest, improvement, subject, title
from reports.models import Notice, Report
from reports.sections import ADVISORY, layout
from reports.selectors import made_report, report_value
from reports.services.formats import figures, rendered
from reports.services.links import address, job_address
from reports.services.pdf import PdfUnavailable
from reports.text import report_text

PDFS_MAX = 5
"""A report is usually below 200 kB; not every server accepts a message with all PDFs of a busy week."""

WHY = {
    Notice.Kind.OFFER: "You receive this message because support staff offer you help with your GPU jobs.",
    Notice.Kind.SUMMARY: "You receive this message because you are support staff of Kaiku.",
}
"""Why somebody gets a message that is about no report, in its foot."""

log = logging.getLogger(__name__)


def letter(user: User, key: str, rows: Sequence[Report], *, with_pdf: bool) -> Letter:
    """The letter to this person about these reports, as `reports.selectors.told_reports` reads them."""
    told = [_told(row) for row in rows]
    made = _written(user, key, rows, told)
    if with_pdf:
        _attach_pdfs(made, rows, told)
    return made


def notice_letter(user: User, key: str, notice: Notice) -> Letter:
    """The letter of a text that is about no report."""
    context = {"text": notice.text, "why": WHY[Notice.Kind(notice.kind)]}
    return addressed(user, key, "notice", notice.subject, context)


def is_telling(rows: Sequence[Report]) -> bool:
    """Whether a message may be sent for any of these reports alone."""
    return any(_told(row).is_telling for row in rows)


def _written(user: User, key: str, rows: Sequence[Report], told: Sequence[Told]) -> Letter:
    """The whole report with its figures for one measured job, or the only one; a list for several."""
    telling = [place for place, item in enumerate(told) if item.is_telling] or list(range(len(told)))
    full = telling[0] if len(telling) == 1 else None
    context: dict[str, Any] = {
        "subject": subject(told),
        "advisory": ADVISORY,
        "digest": digest([item for place, item in enumerate(told) if place != full]),
        "jobs_url": address("my-jobs"),
    }
    pictures = {}
    if full is not None:
        row, measured = rows[full], measurements_of(rows[full].job)
        item = replace(told[full], report=report_value(row, measured))
        pictures = figures(row.job, item.report, measured, draw_png)
        context |= _job_context(item)
    folder = "digest" if full is None else "job_report"
    return addressed(user, key, folder, subject(told), context, pictures)


def _job_context(item: Told) -> dict[str, Any]:
    report = item.report
    return {
        "page": layout(report),
        "title": title([item]),
        "improvement": improvement(item),
        "job_url": item.url,
        "figures": [{"name": name, "text": report.figure_texts[name]} for name in report.figures],
        "report_text": report_text(report),
    }


def _told(row: Any) -> Told:
    return Told(
        report=made_report(row),
        url=job_address(row.job),
        earlier_class=EfficiencyClass(row.earlier_class) if row.earlier_class else None,
        earlier_util=row.earlier_util,
        work_key=row.job.work_key,
    )


def _attach_pdfs(made: Letter, rows: Sequence[Report], told: Sequence[Told]) -> None:
    """Attach the PDFs of the first measured runs; without them where this machine cannot make PDFs."""
    measured = [row for row, item in zip(rows, told, strict=True) if item.is_telling]
    try:
        for row in measured[:PDFS_MAX]:
            made.attach(f"kaiku-{row.job.job_id}.pdf", rendered(row.job, row, "pdf"), "application/pdf")
    except PdfUnavailable:
        log.warning("message sent without its PDF: this machine cannot make PDFs")
