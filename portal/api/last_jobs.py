"""A person's latest jobs in few words, for a site's other portal that shows them in its own way."""

from datetime import datetime

import msgspec
from django.conf import settings
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs.selectors import reach_of
from portal.access import person
from portal.charts.recent_jobs import ShownJob, recent_jobs
from portal.charts.run_classes import class_for_programs
from reports.from_rows import struct_from

SCHEMA = "last-jobs/1"
JOBS, JOBS_MAX = 5, 20


class LastJob(msgspec.Struct, frozen=True):
    """One job; what is null is not known, not measured or not analysed yet. `url` opens it in the portal."""

    cluster: str
    job_id: int
    attempt: int
    name: str
    state: str
    ended_at: datetime | None
    efficiency_class: str | None
    avg_gpu_util: float | None
    wasted_gpu_hours: float | None
    finding: str
    url: str


class LastJobList(msgspec.Struct, frozen=True):
    """Own jobs, the latest first."""

    schema: str
    jobs: list[LastJob]


class LastJobs(APIView):
    """`GET /embed/last-jobs.json`: with a session or a token that reads; without CORS, so no other site's script."""

    def get(self, request: Request) -> Response:
        found = recent_jobs(reach_of(person(request)), _asked(request))
        return Response(msgspec.to_builtins(LastJobList(SCHEMA, [_job(item) for item in found])))


def _asked(request: Request) -> int:
    asked = request.query_params.get("n", str(JOBS))
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 4 and 1 <= int(asked) <= JOBS_MAX):
        raise ValidationError(f"n must be a number from 1 to {JOBS_MAX}.")
    return int(asked)


def _job(item: ShownJob) -> LastJob:
    run, judged = item.run, item.judged
    return struct_from(
        LastJob,
        run,
        name=run.job_name,
        efficiency_class=class_for_programs(run) if judged else None,
        avg_gpu_util=judged.avg_gpu_util if judged else None,
        wasted_gpu_hours=judged.wasted_gpu_hours if judged else None,
        finding=item.finding,
        url=f"{settings.SITE_URL}{item.url}",
    )
