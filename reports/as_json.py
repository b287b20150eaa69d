"""The report as `job-report/1` JSON: the machine's view of the same value."""

from __future__ import annotations

import msgspec

from reports.job_report import JobReport


def report_json(report: JobReport) -> bytes:
    """Indented JSON; a report never holds NaN, so neither does this."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2)
