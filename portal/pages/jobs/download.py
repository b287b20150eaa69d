"""The jobs of the Jobs page as a table for other programs."""

from __future__ import annotations

from itertools import chain

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_GET

from jobs.selectors import reach_of
from portal.csv_lines import csv_lines
from portal.pages.jobs.filter import JobFilter
from portal.rate_limits import DOWNLOADS, limited

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
    "class": "efficiency__efficiency_class",
    "avg_gpu_util_percent": "efficiency__avg_gpu_util",
    "gpu_hours": "efficiency__gpu_hours",
    "wasted_gpu_hours": "efficiency__wasted_gpu_hours",
    "reported_by_owner_only": "is_told_by_owner",
}
CHUNK_ROWS = 1000


@require_GET
@login_required
@limited(DOWNLOADS)
def jobs_csv(request: HttpRequest) -> StreamingHttpResponse:
    """Every run that the same address shows on the page, row by row."""
    rows = JobFilter(reach_of(request.user), request.GET).runs().values_list(*COLUMNS.values())
    content = csv_lines(chain([COLUMNS], rows.iterator(chunk_size=CHUNK_ROWS)))
    disposition = {"Content-Disposition": 'attachment; filename="kaiku-jobs.csv"'}
    return StreamingHttpResponse(content, content_type="text/csv; charset=utf-8", headers=disposition)
