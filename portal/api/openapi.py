"""The HTTP API in OpenAPI's words, made from the structs that decode what arrives, so that it cannot fall behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from http import HTTPStatus
from typing import Any

import msgspec

from jobs.records import JobRecord
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from reports.job_report import JobReport
from reports.services.formats import FORMATS

REFERENCES = "#/components/schemas/{name}"
JSON, PROBLEM = "application/json", "application/problem+json"
COLLECTOR, SENDER, PERSON, ANYONE = "collector", "sender", "person", "anyone"
ACCESS = {
    COLLECTOR: "With a collector's token.",
    SENDER: "With a collector's token, or for your own runs with a token of yours that sends.",
    PERSON: "With your portal session, or a token of yours.",
    ANYONE: "Open to everyone.",
}
SCHEMES = {
    "collectorToken": {"type": "http", "scheme": "bearer", "description": "Made by `manage.py create_token`."},
    "personalToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "Made under Settings, API tokens; reads only.",
    },
    "ownRunToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "Made under Settings, API tokens, where the site allows it; sends node summaries of own runs.",
    },
    "portalSession": {"type": "apiKey", "in": "cookie", "name": "sessionid"},
}
LETS_IN = {
    COLLECTOR: ("collectorToken",),
    SENDER: ("collectorToken", "ownRunToken"),
    PERSON: ("personalToken", "portalSession"),
    ANYONE: (),
}


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one field."""

    path: str
    message: str


class RejectedRecord(msgspec.Struct, frozen=True):
    """A record of a batch that was not taken."""

    index: int
    errors: list[FieldProblem]


class IngestAnswer(msgspec.Struct, frozen=True):
    """2xx: what is counted as accepted or duplicate is committed."""

    accepted: int
    duplicate: int
    rejected: list[RejectedRecord]


class Problem(msgspec.Struct, frozen=True):
    """RFC 9457 problem details."""

    title: str
    status: int
    detail: str
    type: str = "about:blank"


class JobPage(msgspec.Struct, frozen=True):
    """One page of runs, newest first; each is a job record with its `efficiency` beside it.

    `is_told_by_owner` is true while no record of the site has confirmed what the owner's own run of the collector sent.
    """

    count: int
    next: str | None
    previous: str | None
    results: list[dict[str, Any]]


class LinkAnswer(msgspec.Struct, frozen=True):
    """Where to read on."""

    title: str
    url: str


class LessonAnswer(msgspec.Struct, frozen=True):
    """One lesson; `text` is the micro-lesson, `explanation` and `hint` are Markdown."""

    title: str
    url: str
    text: str
    explanation: str
    hint: str
    links: list[LinkAnswer]


class ClassAnswer(msgspec.Struct, frozen=True):
    """One class of the counted jobs of a period."""

    efficiency_class: str
    jobs: int
    gpu_hours: float


class FindingAnswer(msgspec.Struct, frozen=True):
    """One finding of the counted jobs of a period."""

    code: str
    jobs: int
    wasted_gpu_hours: float


class AllocationAnswer(msgspec.Struct, frozen=True):
    """GPU-hours of a project as a directory says; `used_gpu_hours` null where it does not count the use."""

    gpu_hours: float
    used_gpu_hours: float | None
    begins_on: date | None
    ends_on: date | None
    source: str
    read_at: datetime


class ProjectAnswer(msgspec.Struct, frozen=True):
    """A project over the last `days`; jobs that ran too short or failed by the system's fault are not counted.

    Nor are the `owner_reported_jobs`, of which no record of the site has come: they stand in no number but their own.
    """

    project: str
    days: int
    jobs: int
    uncounted_jobs: int
    gpu_hours: float
    wasted_gpu_hours: float
    potential_gpu_hours: float
    median_gpu_util: float | None
    classes: list[ClassAnswer]
    findings: list[FindingAnswer]
    allocation: AllocationAnswer | None
    owner_reported_jobs: int


@dataclass(frozen=True)
class Operation:
    """One call: where, what it takes, what it answers, and who may ask; `parameters` are numbers, `words` text."""

    method: str
    path: str
    summary: str
    answers: dict[int, Any]
    takes: Any = None
    content_types: tuple[str, ...] = (JSON,)
    access: str = PERSON
    parameters: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    problems: tuple[int, ...] = field(default=(401, 404))


RUN = "/api/v1/jobs/{cluster}/{job_id}/"
INGEST_PROBLEMS = (400, 401, 403, 413, 415, 422, 503)
OPERATIONS = (
    Operation(
        "post",
        "/api/v1/ingest/node-summaries",
        "What one node measured of a run, or a list of that; gzip is taken.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=NodePayload | list[NodePayload],
        access=SENDER,
        problems=INGEST_PROBLEMS,
    ),
    Operation(
        "post",
        "/api/v1/ingest/job-records",
        "Slurm's record of a run, or a list of that; gzip is taken.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=JobRecord | list[JobRecord],
        access=COLLECTOR,
        problems=INGEST_PROBLEMS,
    ),
    Operation(
        "post",
        "/api/v1/ingest/raw-samples",
        "A short window of one node with every sample, or a list of that; gzip is taken. The first thing that is turned"
        " away under load, with 503.",
        {202: IngestAnswer},
        takes=RawSamplesPayload | list[RawSamplesPayload],
        access=COLLECTOR,
        problems=INGEST_PROBLEMS,
    ),
    Operation(
        "get",
        "/api/v1/jobs/",
        "The runs that you may see, newest first.",
        {200: JobPage},
        parameters=("page", "page_size"),
        problems=(401,),
    ),
    Operation("get", RUN, "The report of one run as data.", {200: JobReport}, parameters=("attempt",)),
    Operation(
        "get", f"{RUN}gpus/", "The measured columns of each GPU.", {200: list[dict[str, Any]]}, parameters=("attempt",)
    ),
    *(
        Operation(
            "get",
            f"{RUN}report.{name}",
            "The report as a file.",
            {200: JobReport if name == "json" else str},
            content_types=(form.content_type.partition(";")[0],),
            parameters=("attempt",),
        )
        for name, form in FORMATS.items()
    ),
    Operation(
        "get",
        f"{RUN}raw-samples.csv",
        "Every sample of the raw windows of the run, as long as they are kept.",
        {200: str},
        content_types=("text/csv",),
        parameters=("attempt",),
    ),
    Operation(
        "get",
        "/api/v1/projects/{project}/summary/",
        "A project as a whole, for its PI.",
        {200: ProjectAnswer},
        parameters=("days",),
    ),
    Operation(
        "get",
        "/api/v1/education/",
        "Finding code to lesson.",
        {200: dict[str, LessonAnswer]},
        access=ANYONE,
        words=("language",),
        problems=(400,),
    ),
    Operation(
        "get",
        "/api/v1/education/links/",
        "Finding code to the address of its documentation.",
        {200: dict[str, str]},
        access=ANYONE,
        words=("language",),
        problems=(400,),
    ),
)


def document(operations: tuple[Operation, ...] = OPERATIONS) -> dict[str, Any]:
    """The OpenAPI 3.1 document of these operations."""
    types = [kind for operation in operations for kind in (operation.takes, *operation.answers.values()) if kind]
    schemas, components = msgspec.json.schema_components([*types, Problem], ref_template=REFERENCES)
    known = iter(schemas)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        taken = next(known) if operation.takes else None
        answered = {status: next(known) for status in operation.answers}
        paths.setdefault(operation.path, {})[operation.method] = _described(operation, taken, answered)
    described = {
        "openapi": "3.1.0",
        "info": {"title": "Kaiku", "version": "1", "description": "Post-job GPU feedback."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": SCHEMES,
        },
    }
    # Python's anchors in the dialect of JSON Schema, and every default as plain JSON.
    written = msgspec.json.encode(described).replace(rb"\\A", b"^").replace(rb"\\Z", b"$")
    plain: dict[str, Any] = msgspec.json.decode(written)
    return plain


def _described(operation: Operation, taken: Any, answered: dict[int, Any]) -> dict[str, Any]:
    in_path = [name for name in ("cluster", "job_id", "project") if f"{{{name}}}" in operation.path]
    responses = {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {content_type: {"schema": schema} for content_type in operation.content_types},
        }
        for status, schema in answered.items()
    }
    refused = {"content": {PROBLEM: {"schema": {"$ref": REFERENCES.format(name="Problem")}}}}
    problems = (*operation.problems, *(() if operation.access == COLLECTOR else (429,)))
    responses |= {str(status): {"description": HTTPStatus(status).phrase} | refused for status in problems}
    described = {
        "summary": operation.summary,
        "security": [{scheme: []} for scheme in LETS_IN[operation.access]],
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path),
            *({"name": name, "in": "query", "schema": {"type": "integer"}} for name in operation.parameters),
            *({"name": name, "in": "query", "schema": {"type": "string"}} for name in operation.words),
        ],
        "responses": responses,
    }
    if taken is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": taken}}}
    return described
