"""Runs for analysts and models: one run, or all of one's own, in each format of `reports.performance.services`."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import Http404, StreamingHttpResponse
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from jobs.records import ENDED_STATES
from jobs.selectors import visible_jobs
from portal.access import open_run, person
from portal.api.rate_limits import Downloads
from portal.performance_reading import bounds
from reports.performance.dictionary import dictionary
from reports.performance.learning.json_schema import FILE
from reports.performance.services import BY_ENDING, ExportFormat, ended_runs

LEARNING_SCHEMA: dict[str, Any] = msgspec.json.decode(FILE.read_bytes())


class Export(APIView):
    """A file that is written part by part, within the limit of downloads."""

    def get_throttles(self) -> list[BaseThrottle]:
        return [*super().get_throttles(), Downloads()]

    def answer(self, form: ExportFormat, parts: Any, name: str) -> StreamingHttpResponse:
        disposition = {"Content-Disposition": f'attachment; filename="{name}.{form.ending}"'}
        return StreamingHttpResponse(parts, content_type=form.content_type, headers=disposition)


class JobPerformance(Export):
    """`GET /api/v1/jobs/{cluster}/{job_id}/performance.{json,jsonl,csv,parquet,txt}`: one run that has ended."""

    def get(self, request: Request, cluster: str, job_id: int, name: str) -> StreamingHttpResponse:
        form = _named(name)
        run = open_run(request, cluster, job_id)
        if run.state not in ENDED_STATES:
            raise NotFound("This job has not ended yet.")
        return self.answer(form, form.one(run), f"kaiku-{run.cluster}-{run.job_id}-performance")


class OwnPerformance(Export):
    """`GET /api/v1/performance.{json,jsonl,csv,parquet,txt}`: one's own runs that ended, `?since=` and `?until=`."""

    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        form, user = _named(name), person(request)
        try:
            since, until = bounds(*(request.query_params.get(which) for which in ("since", "until")))
        except ValueError as error:
            raise ValidationError(f"{error}.") from error
        runs = ended_runs(visible_jobs(user).filter(user=user), since, until)
        return self.answer(form, form.write(runs), "kaiku-performance")


class LearningSchema(APIView):
    """`GET /api/schema/kaiku-learning-1.json`: the JSON Schema of learning documents, open to everyone."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response(LEARNING_SCHEMA)


class Dictionary(APIView):
    """`GET /api/schema/kaiku-performance-1.json`: the data dictionary of the rows, open to everyone."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response(dictionary())


def _named(ending: str) -> ExportFormat:
    if ending not in BY_ENDING:
        raise Http404(f"A performance file must end with one of {', '.join(BY_ENDING)}.")
    return BY_ENDING[ending]
