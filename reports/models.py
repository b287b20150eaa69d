"""The table of reports: one for each judged run, as the value every rendering is made from."""

from __future__ import annotations

from django.db import models

from jobs.models import Job


class Report(models.Model):
    """`content` is `reports.job_report.JobReport` as JSON; `pdf` is kept once someone asked for it."""

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="report")
    content = models.JSONField()
    efficiency_revision = models.PositiveIntegerField()
    published_at = models.DateTimeField()
    pdf = models.BinaryField(null=True)

    def __str__(self) -> str:
        return f"Report on {self.job}"
