"""The jobs of the Jobs page as the lines of a table for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from portal.csv_lines import csv_lines
from portal.pages.jobs.classes import SHOWN_CLASS
from portal.pages.jobs.query import JobQuery

COLUMNS = {
    "cluster": "cluster",
    "job_id": "job_id",
    "attempt": "attempt",
    "job_name": "job_name",
    "user": "user__username",
    "project": "project__name",
    "partition": "partition",
    "state": "state",
    "started_at": "started_at",
    "ended_at": "ended_at",
    "run_time_s": "walltime_used_s",
    "gpus": "gpus_allocated",
    "class": "shown_class",
    "avg_gpu_util_percent": "efficiency__avg_gpu_util",
    "gpu_hours": "efficiency__gpu_hours",
    "wasted_gpu_hours": "efficiency__wasted_gpu_hours",
    "coverage_fraction": "efficiency__coverage_fraction",
    "reported_by_owner_only": "is_told_by_owner",
}
CHUNK_ROWS = 1000


def csv_of(query: JobQuery) -> Iterator[str]:
    """Every run that is left, row by row, below the names of the columns."""
    rows = query.runs().annotate(shown_class=SHOWN_CLASS).values_list(*COLUMNS.values())
    return csv_lines(chain([COLUMNS], rows.iterator(chunk_size=CHUNK_ROWS)))
