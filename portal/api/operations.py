"""Every call of the API: its address, what it accepts and answers, who may call it, and which calls follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.history.periods import DAYS_OFFERED
from analysis.policy.figures import KINDS, PolicyExport
from analysis.policy.raised import FlagList
from education.lesson import LANGUAGES
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.api.answers import IngestAnswer, JobPage, JobWithoutReport, LessonAnswer, ProjectAnswer
from reports.job_report import JobReport
from reports.services.formats import FORMATS

JSON = "application/json"
COLLECTOR, SENDER, PERSON, POLICY, ANYONE = "collector", "sender", "person", "policy", "anyone"
ACCESS = {
    COLLECTOR: "With a collector's token.",
    SENDER: "With a collector's token, or, for your own runs, with a personal token that sends.",
    PERSON: "With your portal session or a personal token.",
    POLICY: "With a policy token, or as staff or policy reader with your portal session or a personal token.",
    ANYONE: "Open to everyone.",
}
PROBLEMS = {
    COLLECTOR: (400, 401, 403, 408, 413, 415, 422, 503),
    SENDER: (400, 401, 403, 408, 413, 415, 422, 429, 503),
    PERSON: (400, 401, 403, 404, 429, 503),
    POLICY: (400, 401, 403, 404, 429, 503),
    ANYONE: (400, 429, 503),
}
"""The statuses of the problems that a call may answer, by who may call it."""

MONTH_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])$"
FIRST_DAY_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])(-01)?$"

QUERY: Mapping[str, dict[str, Any]] = {
    "attempt": {
        "description": "Slurm's restart count of the run; without it the latest run.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 99_999_999},
    },
    "page": {"description": "Page number; 404 after the last page.", "schema": {"type": "integer", "minimum": 1}},
    "page_size": {"description": "Runs per page, at most 200.", "schema": {"type": "integer", "minimum": 1}},
    "days": {"description": "Number of days to include.", "schema": {"type": "integer", "enum": list(DAYS_OFFERED)}},
    "period": {
        "description": "A closed month; without one the latest. 404 where it is not closed, 400 where it is outside "
        "`since` and `until`.",
        "schema": {"type": "string", "pattern": MONTH_PATTERN},
    },
    "since": {
        "description": "Closed months from this one, or its first day, instead of the latest alone. 404 where none "
        "is closed, 400 where it is not before `until`, or is after `period`.",
        "schema": {"type": "string", "pattern": FIRST_DAY_PATTERN},
    },
    "until": {
        "description": "Closed months before this one, or its first day, instead of the latest alone. 404 where none "
        "is closed, 400 where it is not after `since` and `period`.",
        "schema": {"type": "string", "pattern": FIRST_DAY_PATTERN},
    },
    "by": {"description": "Rows of one kind alone.", "schema": {"type": "string", "enum": list(KINDS)}},
    "language": {"description": "Default: English.", "schema": {"type": "string", "enum": list(LANGUAGES)}},
}
"""The query parameters, by name."""

OF_THE_PATH = {"cluster": "$request.path.cluster", "job_id": "$request.path.job_id"}
OF_THE_REPORT = OF_THE_PATH | {"attempt": "$response.body#/job/attempt"}
OF_THE_FIRST = {name: f"$response.body#/results/0/{name}" for name in ("cluster", "job_id", "attempt")}
"""Where the answer of one call contains the run of another (OpenAPI 3.1, runtime expressions)."""


@dataclass(frozen=True)
class Operation:
    """One call; `query` names members of `QUERY`, `links` the calls that follow from its answer and their values.

    If an answer is one of several kinds, they are in a tuple.
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
        "Measurements of one run on one node, or a list of them; gzip is accepted.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=NodePayload | list[NodePayload],
        access=SENDER,
    ),
    Operation(
        "sendJobRecords",
        "post",
        "/api/v1/ingest/job-records",
        "Slurm's record of a run, or a list of them; gzip is accepted.",
        {200: IngestAnswer, 201: IngestAnswer},
        takes=JobRecord | list[JobRecord],
        access=COLLECTOR,
    ),
    Operation(
        "sendRawSamples",
        "post",
        "/api/v1/ingest/raw-samples",
        "A short window of one node with every sample, or a list of them; gzip is accepted. Rejected first"
        " under load, with 503.",
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
        "The report of one run as data, or its record if there is no report.",
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
        "Every sample of the raw windows of the run, while they are kept.",
        {200: str},
        content_types=("text/csv",),
        query=("attempt",),
        links={"getJob": OF_THE_PATH},
    ),
    Operation(
        "getProjectSummary",
        "get",
        "/api/v1/projects/{project}/summary/",
        "A whole project, for its PI.",
        {200: ProjectAnswer},
        query=("days",),
    ),
    *(
        Operation(
            f"getPolicyEfficiency{name.capitalize()}",
            "get",
            f"/api/v1/policy/efficiency.{name}",
            "How well projects and users used their GPUs in closed months, with a suggestion; advice only.",
            {200: answer},
            content_types=(content_type,),
            access=POLICY,
            query=("period", "since", "until", "by"),
        )
        for name, content_type, answer in (("json", JSON, PolicyExport), ("csv", "text/csv", str))
    ),
    Operation(
        "listFlags",
        "get",
        "/api/v1/flags",
        "The projects whose advisory flag is raised and visible to staff, and the users with one when the week began.",
        {200: FlagList},
        access=POLICY,
    ),
    *(
        Operation(
            f"getPolicySchema{name.capitalize()}",
            "get",
            f"/api/v1/policy/{name}.schema.json",
            f"The JSON Schema of the {what}.",
            {200: dict[str, Any]},
            access=ANYONE,
        )
        for name, what in (("efficiency", "policy export"), ("flags", "list of flags"))
    ),
    Operation(
        "getLessons",
        "get",
        "/api/v1/education/",
        "From finding code to lesson.",
        {200: dict[str, LessonAnswer]},
        access=ANYONE,
        query=("language",),
    ),
    Operation(
        "getLessonLinks",
        "get",
        "/api/v1/education/links/",
        "From finding code to the address of its documentation.",
        {200: dict[str, str]},
        access=ANYONE,
        query=("language",),
    ),
)
