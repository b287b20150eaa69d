"""Addresses of the Jobs page that other pages link to."""

from __future__ import annotations

from collections.abc import Mapping

from portal.charts.finding_list import jobs_address


def work_jobs_address(key: str, chosen: Mapping[str, str] | None = None) -> str:
    """The Jobs page with exactly the runs of one work, by its `jobs.models.Job.work_key`, never by its name.

    `chosen` are further filters, for example the project and the period of the page that links there. Whoever sees no
    run of the work is told on the page that the filter was ignored.

    >>> work_jobs_address("0af3", {"project": "project_465000001", "days": "30"})
    '/jobs/?project=project_465000001&days=30&work=0af3'
    """
    return jobs_address({**(chosen or {}), "work": key})
