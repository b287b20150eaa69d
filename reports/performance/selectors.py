"""Reading runs as rows for analysts: whose runs they are decides the caller, with a queryset of `jobs.selectors`."""

from collections.abc import Iterator

from django.db.models import QuerySet

from jobs.models import Job
from reports.performance.judged_row import STORED, judged_rows
from reports.performance.rows import PerformanceRow
from reports.performance.tables import batches

ROWS_TOGETHER = 1000


def performance_rows(runs: QuerySet[Job]) -> Iterator[PerformanceRow]:
    """A row for each of these runs, in their order, else by key: one query, some rows in memory at a time."""
    ordered = runs if runs.ordered else runs.order_by("pk")
    stored = ordered.select_related(None).values_list(*STORED.values())
    for some in batches(stored.iterator(chunk_size=ROWS_TOGETHER), ROWS_TOGETHER):
        yield from judged_rows(some)
