"""Every call of the API: where it is, what it takes and answers, who may ask, and which call goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.history.periods import DAYS_OFFERED
from education.lesson import LANGUAGES
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.api.answers import IngestAnswer, JobPage, JobWithoutReport, LessonAnswer, ProjectAnswer
from reports.job_report import JobReport
from reports.services.formats import FORMATS

JSON = "application/json"
COLLECTOR, SENDER, PERSON, ANYONE = "collector", "sender", "person", "anyone"
ACCESS = {
    COLLECTOR: "With a collector's token.",
    SENDER: "With a collector's token, or for your own runs with a token of yours that sends.",
    PERSON: "With your portal session, or a token of yours.",
    ANYONE: "Open to everyone.",
}
PROBLEMS = {
    COLLECTOR: (400, 401, 403, 408, 413, 415, 422, 503),
    SENDER: (400, 401, 403, 408, 413, 415, 422, 429, 503),
    PERSON: (400, 401, 403, 404, 429, 503),
    ANYONE: (400, 429, 503),
}
"""The statuses of the problems that a call may answer, by who may ask."""

QUERY: Mapping[str, dict[str, Any]] = {
    "attempt": {
        "description": "Slurm's restart count of the run; the latest run without it.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 99_999_999},
    },
    "page": {"description": "Which page; 404 beyond the last.", "schema": {"type": "integer", "minimum": 1}},
    "page_size": {"description": "Runs on a page, at most 200 of them.", "schema": {"type": "integer", "minimum": 1}},
    "days": {"description": "How far to look back.", "schema": {"type": "integer", "enum": list(DAYS_OFFERED)}},
    "language": {"description": "English without it.", "schema": {"type": "string", "enum": list(LANGUAGES)}},
}
"""What may stand behind the question mark, by its name."""

OF_THE_PATH = {"cluster": "$request.path.cluster", "job_id": "$request.path.job_id"}
OF_THE_REPORT = OF_THE_PATH | {"attempt": "$response.body#/job/attempt"}
OF_THE_FIRST = {name: f"$response.body#/results/0/{name}" for name in ("cluster", "job_id", "attempt")}
"""Where the run of another call is read in the answer of one (OpenAPI 3.1, runtime expressions)."""


@dataclass(frozen=True)
class Operation:
    """One call; `query` names members of `QUERY`, `links` the calls that go on from its answer and their values.

    Where an answer is one of several kinds, they stand in a tuple.
    """

    name: str
    method: str
    path: str
    summary: str
    answers: dict[int, Any]
    takes: Any = None
    content_types: tuple[str, ...] = (JSON,)
    access: str = PERSON
    query: tuple[str, ...] = ()
    links: Mapping[str, dict[str, str]] = field(default_factory=dict)

    @property
    def problems(self) -> tuple[int, ...]:
        return PROBLEMS[self.access]


RUN = "/api/v1/jobs/{cluster}/{job_id}/"
FILES = {name: f"getReport{name.capitalize()}" for name in FORMATS}
OF_A_RUN = ("listGpus", *FILES.values(), "getRawSamples")
OPERATIONS = (
    Operation(
        "sendNodeSummaries",
        "post",
        "/api/v1/ingest/node-summaries",
        "What one node measured of a run, or a list of that; gzip is taken.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=NodePayload | list[NodePayload],
        access=SENDER,
    ),
    Operation(
        "sendJobRecords",
        "post",
        "/api/v1/ingest/job-records",
        "Slurm's record of a run, or a list of that; gzip is taken.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=JobRecord | list[JobRecord],
        access=COLLECTOR,
    ),
    Operation(
        "sendRawSamples",
        "post",
        "/api/v1/ingest/raw-samples",
        "A short window of one node with every sample, or a list of that; gzip is taken. The first thing that is turned"
        " away under load, with 503.",
        {202: IngestAnswer},
        takes=RawSamplesPayload | list[RawSamplesPayload],
        access=COLLECTOR,
    ),
    Operation(
        "listJobs",
        "get",
        "/api/v1/jobs/",
        "The runs that you may see, newest first.",
        {200: JobPage},
        query=("page", "page_size"),
        links=dict.fromkeys(("getJob", *OF_A_RUN), OF_THE_FIRST)
        | {"getProjectSummary": {"project": "$response.body#/results/0/project_id"}},
    ),
    Operation(
        "getJob",
        "get",
        RUN,
        "The report of one run as data; without one its record.",
        {200: (JobReport, JobWithoutReport)},
        query=("attempt",),
        links=dict.fromkeys(OF_A_RUN, OF_THE_REPORT)
        | {"getProjectSummary": {"project": "$response.body#/job/project_id"}},
    ),
    Operation(
        "listGpus",
        "get",
        f"{RUN}gpus/",
        "The measured columns of each GPU.",
        {200: list[dict[str, Any]]},
        query=("attempt",),
        links={"getJob": OF_THE_PATH},
    ),
    *(
        Operation(
            FILES[name],
            "get",
            f"{RUN}report.{name}",
            "The report as a file.",
            {200: JobReport if name == "json" else str},
            content_types=(form.content_type.partition(";")[0],),
            query=("attempt",),
            links={"getJob": OF_THE_PATH},
        )
        for name, form in FORMATS.items()
    ),
    Operation(
        "getRawSamples",
        "get",
        f"{RUN}raw-samples.csv",
        "Every sample of the raw windows of the run, as long as they are kept.",
        {200: str},
        content_types=("text/csv",),
        query=("attempt",),
        links={"getJob": OF_THE_PATH},
    ),
    Operation(
        "getProjectSummary",
        "get",
        "/api/v1/projects/{project}/summary/",
        "A project as a whole, for its PI.",
        {200: ProjectAnswer},
        query=("days",),
    ),
    Operation(
        "getLessons",
        "get",
        "/api/v1/education/",
        "Finding code to lesson.",
        {200: dict[str, LessonAnswer]},
        access=ANYONE,
        query=("language",),
    ),
    Operation(
        "getLessonLinks",
        "get",
        "/api/v1/education/links/",
        "Finding code to the address of its documentation.",
        {200: dict[str, str]},
        access=ANYONE,
        query=("language",),
    ),
)
