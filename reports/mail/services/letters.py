"""Writing the letter of one message: text, HTML, figures, and the PDF when asked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string

from analysis.efficiency import EfficiencyClass
from analysis.selectors import measurements_of
from jobs.models import User
from reports.mail.emails import Letter, headers
from reports.mail.view import Told, calm, digest, improvement, subject, title
from reports.models import Notice, Report
from reports.numbers import unbroken
from reports.sections import ADVISORY, layout
from reports.selectors import made_report, report_value
from reports.services.formats import figure_pngs, rendered
from reports.services.links import address, job_address, opt_out_address
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


@dataclass(frozen=True)
class Written:
    """The parts of a letter before it has an address."""

    subject: str
    text: str
    html: str
    pictures: dict[str, bytes]


def letter(user: User, key: str, rows: Sequence[Report], *, with_pdf: bool) -> Letter:
    """The letter to this person about these reports, as `reports.selectors.told_reports` reads them."""
    told = [_told(row) for row in rows]
    written = _written(user, rows, told)
    made = Letter(
        subject=written.subject,
        body=written.text,
        html=written.html,
        pictures=written.pictures,
        to=[user.email],
        reply_to=[settings.MAIL_REPLY_TO] if settings.MAIL_REPLY_TO else None,
        headers=headers(key, opt_out_address(user)),
    )
    if with_pdf:
        _attach_pdfs(made, rows, told)
    return made


def notice_letter(user: User, key: str, notice: Notice) -> Letter:
    """The letter of a text that is about no report."""
    context = {
        "subject": calm(notice.subject, 200),
        "text": notice.text,
        "why": WHY[Notice.Kind(notice.kind)],
        "user": user,
        "settings_url": address("settings"),
        "opt_out_url": opt_out_address(user),
    }
    return Letter(
        subject=calm(notice.subject, 200),
        body=render_to_string("emails/notice/body.txt", context),
        html=unbroken(render_to_string("emails/notice/body.html", context)),
        pictures={},
        to=[user.email],
        reply_to=[settings.MAIL_REPLY_TO] if settings.MAIL_REPLY_TO else None,
        headers=headers(key, opt_out_address(user)),
    )


def is_telling(rows: Sequence[Report]) -> bool:
    """Whether a message may be sent for any of these reports alone."""
    return any(_told(row).is_telling for row in rows)


def _written(user: User, rows: Sequence[Report], told: Sequence[Told]) -> Written:
    """The whole report with its figures for one measured job, or the only one; a list for several."""
    telling = [place for place, item in enumerate(told) if item.is_telling] or list(range(len(told)))
    full = telling[0] if len(telling) == 1 else None
    context: dict[str, Any] = {
        "subject": subject(told),
        "advisory": ADVISORY,
        "digest": digest([item for place, item in enumerate(told) if place != full]),
        "user": user,
        "jobs_url": address("my-jobs"),
        "settings_url": address("settings"),
        "opt_out_url": opt_out_address(user),
    }
    pictures = {}
    if full is not None:
        row, measured = rows[full], measurements_of(rows[full].job)
        item = replace(told[full], report=report_value(row, measured))
        pictures = figure_pngs(row.job, item.report, measured)
        context |= _job_context(item)
    folder = "emails/digest" if full is None else "emails/job_report"
    return Written(
        subject=calm(render_to_string(f"{folder}/subject.txt", context), 200),
        text=render_to_string(f"{folder}/body.txt", context),
        html=unbroken(render_to_string(f"{folder}/body.html", context)),
        pictures=pictures,
    )


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
