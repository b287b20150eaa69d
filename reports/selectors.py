"""Reading reports, and which judged runs wait for one."""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.db.models import F, Q, QuerySet

from analysis.models import JobEfficiency
from jobs.models import Job
from reports.job_report import JobReport
from reports.models import Report


def due_efficiencies() -> QuerySet[JobEfficiency]:
    """Judgements newer than the report that was made of them."""
    is_current = Q(job__report__efficiency_revision=F("revision"))
    return JobEfficiency.objects.filter(Q(job__report__isnull=True) | ~is_current).order_by("analysed_at")


def report_row(job: Job) -> Report | None:
    """The stored report of a run the caller may see; None while there is none."""
    return Report.objects.filter(job=job).first()


def report_value(row: Report) -> JobReport:
    """The value that every rendering is made from."""
    return msgspec.convert(row.content, JobReport)


def reports_published(since: datetime) -> int:
    """How many reports were published or renewed since then."""
    return Report.objects.filter(published_at__gte=since).count()
