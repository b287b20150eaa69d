"""The links to one run as data for analysis."""

from __future__ import annotations

from jobs.models import Job
from jobs.records import ENDED_STATES
from reports.services.links import performance_url

SHOWN = {"csv": "CSV row", "json": "JSON for models"}
"""By how the address ends: the row of the run, and its learning document."""


def performance_links(run: Job) -> dict[str, str]:
    """Addresses by the name of the format; none of a run that has not ended."""
    if run.state not in ENDED_STATES:
        return {}
    return {name: performance_url(run, ending) for ending, name in SHOWN.items()}
