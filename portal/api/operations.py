"""Every call of the API: its address, what it accepts and answers, who may call it, and which calls follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.history.periods import DAYS_OFFERED
from analysis.policy.figures import KINDS, PolicyExport
from analysis.policy.raised import FlagList
from education.lesson import LANGUAGES
from jobs.records import JobRecord
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload
from portal.api.answers import (
    DeviceAuthorizationAnswer,
    DeviceAuthorizationRequest,
    DeviceTokenAnswer,
    DeviceTokenRequest,
    IngestAnswer,
    JobPage,
    JobWithoutReport,
    LessonAnswer,
    OAuthError,
    ProjectAnswer,
    SlurmCommentsAnswer,
    WhoAmIAnswer,
)  # fmt: skip
from portal.api.grant_reports import NAMES_ASKED
from portal.api.operation import ANYONE, COLLECTOR, COMMENTS, FORM, JSON, POLICY, PROGRAM, SENDER, Operation
from portal.api.own_operations import OWN_OPERATIONS, OWN_QUERY
from portal.api.performance_operations import OF_ONE_RUN, PERFORMANCE_OPERATIONS, PERFORMANCE_QUERY
from portal.api.run_operations import RUN_OPERATIONS, RUN_QUERY
from portal.grant_reading import CONTENT_TYPES
from reports.grant.report import GrantReport
from reports.job_report import JobReport
from reports.services.formats import FORMATS

COMMENTS_DEFAULT, COMMENTS_MAX = 500, 1000
SINCE_MAX = 2**63 - 1
MONTH_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])$"
FIRST_DAY_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])(-01)?$"

QUERY: Mapping[str, dict[str, Any]] = (
    OWN_QUERY
    | RUN_QUERY
    | PERFORMANCE_QUERY
    | {
        "attempt": {
            "description": "Slurm's restart count of the run; without it the latest run.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 99_999_999},
        },
        "page": {"description": "Page number; 404 after the last page.", "schema": {"type": "integer", "minimum": 1}},
        "page_size": {"description": "Runs per page, at most 200.", "schema": {"type": "integer", "minimum": 1}},
        "days": {
            "description": "Number of days to include.",
            "schema": {"type": "integer", "enum": list(DAYS_OFFERED)},
        },
        "period": {
            "description": "A closed month; without one the latest. 404 where it is not closed, 400 where it is "
            "outside `since` and `until`.",
            "schema": {"type": "string", "pattern": MONTH_PATTERN},
        },
        "since": {
            "description": "Closed months from this one, or its first day, instead of the latest alone. 404 where none "
            "is closed, 400 where it is not before `until`, or is after `period`.",
            "schema": {"type": "string", "pattern": FIRST_DAY_PATTERN},
        },
        "until": {
            "description": "Closed months before this one, or its first day, instead of the latest alone. 404 where "
            "none is closed, 400 where it is not after `since` and `period`.",
            "schema": {"type": "string", "pattern": FIRST_DAY_PATTERN},
        },
        "place": {
            "name": "since",
            "description": "The `next_since` of the call before; without one from the beginning.",
            "schema": {"type": "integer", "minimum": 0, "maximum": SINCE_MAX},
        },
        "comments": {
            "name": "limit",
            "description": f"The most comments; default {COMMENTS_DEFAULT}.",
            "schema": {"type": "integer", "minimum": 1, "maximum": COMMENTS_MAX},
        },
        "first_day": {
            "name": "from",
            "description": "The first day of the period. Without both days: the allocation's period, or this year.",
            "schema": {"type": "string", "format": "date"},
        },
        "last_day": {
            "name": "until",
            "description": "The last day of the period, which belongs to it; at most ten years.",
            "schema": {"type": "string", "format": "date"},
        },
        "names": {
            "description": "Whether the report of a whole project names members and works.",
            "schema": {"type": "string", "enum": list(NAMES_ASKED)},
        },
        "by": {"description": "Rows of one kind alone.", "schema": {"type": "string", "enum": list(KINDS)}},
        "language": {"description": "Default: English.", "schema": {"type": "string", "enum": list(LANGUAGES)}},
    }
)
"""The query parameters, by name; `name` where two calls have different ones of the same name."""

OF_THE_PATH = {"cluster": "$request.path.cluster", "job_id": "$request.path.job_id"}
OF_THE_REPORT = OF_THE_PATH | {"attempt": "$response.body#/job/attempt"}
OF_THE_FIRST = {name: f"$response.body#/results/0/{name}" for name in ("cluster", "job_id", "attempt")}
"""Where the answer of one call contains the run of another (OpenAPI 3.1, runtime expressions)."""


RUN = "/api/v1/jobs/{cluster}/{job_id}/"
FILES = {name: f"getReport{name.capitalize()}" for name in FORMATS}
OF_A_RUN = ("listGpus", *FILES.values(), *OF_ONE_RUN.values(), "getRawSamples")
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
        "The runs that you may see, newest first; narrowed, the latest first or those with the most unused GPU-hours.",
        {200: JobPage},
        query=("page", "page_size", "limit", "own", "job_days", "job_id", "work", "class", "sort"),
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
            f"getGrantReport{name.capitalize()}",
            "get",
            f"/api/v1/projects/{{project}}/grant-report.{name}",
            "What a project used in a period, and how well: all of it for its PI, their own part for a member.",
            {200: answer},
            content_types=(CONTENT_TYPES[name].partition(";")[0],),
            query=("first_day", "last_day", "names"),
        )
        for name, answer in (("json", GrantReport), ("csv", str), ("pdf", str))
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
    Operation(
        "listSlurmComments",
        "get",
        "/api/v1/slurm-comments",
        "New and changed comments for Slurm's accounting, of jobs whose owners opted in; 404 if the site does not.",
        {200: SlurmCommentsAnswer},
        access=COMMENTS,
        query=("place", "comments"),
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
        "beginDeviceSignIn",
        "post",
        "/api/v1/device/authorization",
        "Begin the sign-in of a program (RFC 8628); its person approves the code on the portal.",
        {200: DeviceAuthorizationAnswer},
        takes=DeviceAuthorizationRequest,
        access=ANYONE,
        taken_types=(FORM, JSON),
        refusals=dict.fromkeys((400, 415, 429), OAuthError),
    ),
    Operation(
        "fetchDeviceToken",
        "post",
        "/api/v1/device/token",
        "The token of an approved sign-in, once; before that the error `authorization_pending` or `slow_down`.",
        {200: DeviceTokenAnswer},
        takes=DeviceTokenRequest,
        access=ANYONE,
        taken_types=(FORM, JSON),
        refusals=dict.fromkeys((400, 415, 429), OAuthError),
    ),
    Operation(
        "revokeOwnToken",
        "post",
        "/api/v1/device/revoke",
        "Revoke the personal token of this call.",
        {204: None},
        access=PROGRAM,
    ),
    Operation("whoAmI", "get", "/api/v1/whoami/", "The person, and the token of this call.", {200: WhoAmIAnswer}),
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
    *OWN_OPERATIONS,
    *PERFORMANCE_OPERATIONS,
    *RUN_OPERATIONS,
)
