"""Runs for analysts and models: one run, or all of one's own, in each format of `reports.performance.services`."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.http import Http404, StreamingHttpResponse
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.records import ENDED_STATES
from jobs.selectors import visible_jobs
from portal.access import open_run, person
from portal.api.bases import Download, OpenView
from portal.api.operation import ANYONE, Operation, parameter
from portal.downloads import streamed
from portal.performance_reading import BOUND_PATTERN, bounds
from reports.performance.learning.document import LearningDocument
from reports.performance.learning.json_schema import FILE
from reports.performance.rows import dictionary
from reports.performance.services import BY_ENDING, ExportFormat, ended_runs

LEARNING_SCHEMA: dict[str, Any] = msgspec.json.decode(FILE.read_bytes())

ENDED: dict[str, Any] = {"type": "string", "pattern": BOUND_PATTERN}
PERFORMANCE_QUERY: dict[str, dict[str, Any]] = {
    "ended_since": parameter(
        "Only runs that ended at this time or later; a day begins at midnight in UTC.", ENDED, "since"
    ),
    "ended_until": parameter(
        "Only runs that ended before this time. 400 where it is not after `since`.", ENDED, "until"
    ),
}
WHAT = {
    "json": "as a learning document (`kaiku-learning/1`)",
    "jsonl": "as JSON lines, a row for each run (`kaiku-performance/1`)",
    "csv": "as CSV, a row for each run",
    "parquet": "as a Parquet file, a row for each run",
    "txt": "as the comment that Slurm's accounting gets",
}
OF_ONE_RUN = {ending: f"getPerformance{ending.capitalize()}" for ending in BY_ENDING}


class JobPerformance(Download):
    """`GET /api/v1/jobs/{cluster}/{job_id}/performance.{json,jsonl,csv,parquet,txt}`: one run that has ended."""

    def get(self, request: Request, cluster: str, job_id: int, name: str) -> StreamingHttpResponse:
        form = _named(name)
        run = open_run(request, cluster, job_id)
        if run.state not in ENDED_STATES:
            raise NotFound("This job has not ended yet.")
        return _file(form, form.one(run), f"kaiku-{run.cluster}-{run.job_id}-performance")


class OwnPerformance(Download):
    """`GET /api/v1/performance.{json,jsonl,csv,parquet,txt}`: one's own runs that ended, `?since=` and `?until=`."""

    def get(self, request: Request, name: str) -> StreamingHttpResponse:
        form, user = _named(name), person(request)
        try:
            since, until = bounds(*(request.query_params.get(which) for which in ("since", "until")))
        except ValueError as error:
            raise ValidationError(f"{error}.") from error
        runs = ended_runs(visible_jobs(user).filter(user=user), since, until)
        return _file(form, form.write(runs), "kaiku-performance")


class LearningSchema(OpenView):
    """`GET /api/schema/kaiku-learning-1.json`: the JSON Schema of learning documents, open to everyone."""

    def get(self, request: Request) -> Response:
        return Response(LEARNING_SCHEMA)


class Dictionary(OpenView):
    """`GET /api/schema/kaiku-performance-1.json`: the data dictionary of the rows, open to everyone."""

    def get(self, request: Request) -> Response:
        return Response(dictionary())


def _file(form: ExportFormat, parts: Iterable[bytes], name: str) -> StreamingHttpResponse:
    return streamed(parts, f"{name}.{form.ending}", form.content_type)


def _named(ending: str) -> ExportFormat:
    if ending not in BY_ENDING:
        raise Http404(f"A performance file must end with one of {', '.join(BY_ENDING)}.")
    return BY_ENDING[ending]


def _answer(ending: str, document: Any) -> dict[int, Any]:
    return {200: document if ending == "json" else str}


def _content_type(ending: str) -> str:
    return BY_ENDING[ending].content_type.partition(";")[0]


PERFORMANCE_OPERATIONS = (
    *(
        Operation(
            name,
            f"/api/v1/jobs/{{cluster}}/{{job_id}}/performance.{ending}",
            f"A run that has ended, {WHAT[ending]}.",
            _answer(ending, LearningDocument),
            content_types=(_content_type(ending),),
            query=("attempt",),
        )
        for ending, name in OF_ONE_RUN.items()
    ),
    *(
        Operation(
            f"listOwnPerformance{ending.capitalize()}",
            f"/api/v1/performance.{ending}",
            f"All of your own runs that have ended, {WHAT[ending]}, in the order of their ends.",
            _answer(ending, list[LearningDocument]),
            content_types=(_content_type(ending),),
            query=("ended_since", "ended_until"),
        )
        for ending in BY_ENDING
    ),
    Operation(
        "getLearningSchema",
        "/api/schema/kaiku-learning-1.json",
        "The JSON Schema of learning documents.",
        {200: dict[str, Any]},
        access=ANYONE,
    ),
    Operation(
        "getPerformanceDictionary",
        "/api/schema/kaiku-performance-1.json",
        "The columns of the tables of runs: types, units, sources and meaning.",
        {200: dict[str, Any]},
        access=ANYONE,
    ),
)
