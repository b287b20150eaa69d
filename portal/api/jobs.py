"""The read API: jobs a person may see, their GPUs and their reports."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import Http404, HttpResponse
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from analysis.rollups.selectors import site_now
from jobs.models import Job
from jobs.selectors import counted_senders, latest_own_run, record_of, visible_jobs
from metrics.selectors import gpu_rows
from portal.access import open_report, open_run, owner_for, person
from portal.api.asked import asked_works
from portal.api.job_list import asked_jobs
from portal.api.rate_limits import Downloads
from portal.charts.run_classes import class_for_programs
from portal.charts.work_requests import of_whole_work
from reports.selectors import report_row, report_value
from reports.services.formats import FORMATS, rendered

EFFICIENCY_IN_LISTS = ("efficiency_class", "avg_gpu_util", "coverage_fraction", "gpu_hours", "wasted_gpu_hours")


class Jobs(ListAPIView):
    """`GET /api/v1/jobs/`: the record and the class of each run, newest first unless the address asks otherwise."""

    def list(self, request: Request) -> Response:
        # The paginator asks for a length and slices only.
        runs: Any = asked_jobs(request, person(request))
        page = self.paginate_queryset(runs) or ()
        return self.get_paginated_response([_listed(run) for run in page])


class JobDetail(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/`: the report as data, or only the record while there is no report."""

    def get(self, request: Request, cluster: str, job_id: int) -> Response:
        return _report(open_run(request, cluster, job_id))


class LatestJob(APIView):
    """`GET /api/v1/jobs/latest/`: the same of one's own run that ended last, of the work in `?work=` if any.

    With `of_work`: what its work as a whole suggests, where that is another number of GPUs.
    """

    def get(self, request: Request) -> Response:
        user = person(request)
        run = latest_own_run(user, asked_works(request, user))
        if run is None:
            raise Http404("There is no such job here.")
        answer = _report(run)
        of_work = of_whole_work(run, visible_jobs(user), site_now()) if hasattr(run, "efficiency") else ""
        return Response(answer.data | {"of_work": of_work})


class JobGpus(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/gpus/`: the measured columns of each GPU."""

    def get(self, request: Request, cluster: str, job_id: int) -> Response:
        run = open_run(request, cluster, job_id)
        return Response(gpu_rows((run.cluster, run.job_id, run.attempt), counted_senders(run)))


class JobReportFile(APIView):
    """`GET /api/v1/jobs/{cluster}/{job_id}/report.{html,md,txt,pdf,json}`: the report as a file."""

    def get_throttles(self) -> list[BaseThrottle]:
        form = FORMATS.get(self.kwargs["name"])
        return [*super().get_throttles(), *([Downloads()] if form and form.is_illustrated else [])]

    def get(self, request: Request, cluster: str, job_id: int, name: str) -> HttpResponse:
        if name not in FORMATS:
            raise Http404(f"A report format must be one of {', '.join(FORMATS)}.")
        run, row = open_report(request, cluster, job_id)
        response = HttpResponse(
            rendered(run, row, name, owner_for(request, run)), content_type=FORMATS[name].content_type
        )
        # As an attachment the HTML file is never executed in the portal's own origin.
        response["Content-Disposition"] = f'attachment; filename="kaiku-{run.cluster}-{run.job_id}.{name}"'
        return response


def _report(run: Job) -> Response:
    row = report_row(run)
    if row is None:
        return Response({"job": _record(run), "efficiency": None, "is_told_by_owner": run.is_told_by_owner})
    return Response(msgspec.to_builtins(report_value(row)))


def _record(run: Job) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(record_of(run))
    return record


def _listed(run: Job) -> dict[str, Any]:
    judged = getattr(run, "efficiency", None)
    efficiency = {name: getattr(judged, name) for name in EFFICIENCY_IN_LISTS} if judged else None
    if efficiency:
        efficiency["efficiency_class"] = class_for_programs(run)
    return _record(run) | {"is_told_by_owner": run.is_told_by_owner, "efficiency": efficiency}
