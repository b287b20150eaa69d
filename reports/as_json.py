"""A report as JSON: the machine's view of the same value."""

import msgspec

from reports.grant.report import GrantReport
from reports.job_report import JobReport


def report_json(report: JobReport | GrantReport) -> bytes:
    """Indented JSON; a report never holds NaN, so neither does this."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2)
