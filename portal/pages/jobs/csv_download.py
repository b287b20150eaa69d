"""The jobs of the Jobs page as the lines of a table for other programs.

The first rows come at once, in the order of an index, as the first page of the list does. All others are read from one
snapshot that leaves those out: the database puts many thousand rows in order before it gives the first of them. So each
run is listed once, whatever arrives or changes meanwhile; what arrives between the two stands behind the first rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from django.db.models import QuerySet

from jobs.models import Job
from portal.charts.class_conditions import SHOWN_CLASS
from portal.csv_lines import csv_lines
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.rows import first_keys

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
CHUNK_ROWS, FIRST_ROWS = 1000, 100


def csv_of(query: JobQuery) -> Iterator[str]:
    """Every run that is left, row by row, below the names of the columns.

    What is asked is settled before the answer begins: its days are those of the reader, whose zone ends with the call.
    """
    runs = query.runs().annotate(shown_class=SHOWN_CLASS)
    return csv_lines(chain([COLUMNS], _rows(runs, first_keys(query, FIRST_ROWS))))


def _rows(runs: QuerySet[Job], first: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    yield from runs.filter(pk__in=first).values_list(*COLUMNS.values())
    yield from runs.exclude(pk__in=first).values_list(*COLUMNS.values()).iterator(chunk_size=CHUNK_ROWS)
