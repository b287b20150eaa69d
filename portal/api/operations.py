"""Every call of the API: its address, what it accepts and answers, who may call it, and which calls follow from it."""

from collections.abc import Mapping
from typing import Any

from analysis.history.periods import DAYS_OFFERED
from analysis.policy.figures import KINDS, MONTH_PATTERN, PolicyExport
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
from portal.api.operation import (
    ANYONE,
    COLLECTOR,
    COMMENTS,
    FORM,
    JSON,
    POLICY,
    PROGRAM,
    SENDER,
    Operation,
    one_of,
    parameter,
    whole,
)
from portal.api.own_operations import OWN_OPERATIONS, OWN_QUERY
from portal.api.performance import OF_ONE_RUN, PERFORMANCE_OPERATIONS, PERFORMANCE_QUERY
from portal.api.projects import NAMES_ASKED
from portal.api.run_operations import RUN_OPERATIONS, RUN_QUERY
from portal.grant_reading import CONTENT_TYPES
from reports.grant.report import GrantReport
from reports.job_report import JobReport
from reports.services.formats import FORMATS
from wire.report_columns import COLUMNS, COLUMNS_MIN

COMMENTS_DEFAULT, COMMENTS_MAX = 500, 1000
SINCE_MAX = 2**63 - 1
FIRST_DAY_PATTERN = "^20[0-9]{2}-(0[1-9]|1[0-2])(-01)?$"

QUERY: Mapping[str, dict[str, Any]] = (
    OWN_QUERY
    | RUN_QUERY
    | PERFORMANCE_QUERY
    | {
        "attempt": parameter("Slurm's restart count of the run; without it the latest run.", whole(0, 99_999_999)),
        "page": parameter("Page number; 404 after the last page.", whole(1)),
        "page_size": parameter("Runs per page, at most 200.", whole(1)),
        "days": parameter("Number of days to include.", {"type": "integer", "enum": list(DAYS_OFFERED)}),
        "period": parameter(
            "A closed month; without one the latest. 404 where it is not closed, 400 where it is outside `since` and"
            " `until`.",
            {"type": "string", "pattern": MONTH_PATTERN},
        ),
        "since": parameter(
            "Closed months from this one, or its first day, instead of the latest alone. 404 where none is closed, 400"
            " where it is not before `until`, or is after `period`.",
            {"type": "string", "pattern": FIRST_DAY_PATTERN},
        ),
        "until": parameter(
            "Closed months before this one, or its first day, instead of the latest alone. 404 where none is closed,"
            " 400 where it is not after `since` and `period`.",
            {"type": "string", "pattern": FIRST_DAY_PATTERN},
        ),
        "place": parameter(
            "The `next_since` of the call before; without one from the beginning.", whole(0, SINCE_MAX), "since"
        ),
        "comments": parameter(f"The most comments; default {COMMENTS_DEFAULT}.", whole(1, COMMENTS_MAX), "limit"),
        "first_day": parameter(
            "The first day of the period. Without both days: the allocation's period, or this year.",
            {"type": "string", "format": "date"},
            "from",
        ),
        "last_day": parameter(
            "The last day of the period, which belongs to it; at most ten years.",
            {"type": "string", "format": "date"},
            "until",
        ),
        "names": parameter("Whether the report of a whole project names members and works.", one_of(NAMES_ASKED)),
        "by": parameter("Rows of one kind alone.", one_of(KINDS)),
        "width": parameter(f"Columns of the report as text; default {COLUMNS}.", whole(COLUMNS_MIN, COLUMNS)),
        "language": parameter("Default: English.", one_of(LANGUAGES)),
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
        "/api/v1/ingest/node-summaries",
        "Measurements of one run on one node, or a list of them; gzip is accepted.",
        {200: IngestAnswer, 201: IngestAnswer},
        method="post",
        takes=NodePayload | list[NodePayload],
        access=SENDER,
    ),
    Operation(
        "sendJobRecords",
        "/api/v1/ingest/job-records",
        "Slurm's record of a run, or a list of them; gzip is accepted.",
        {200: IngestAnswer, 201: IngestAnswer},
        method="post",
        takes=JobRecord | list[JobRecord],
        access=COLLECTOR,
    ),
    Operation(
        "sendRawSamples",
        "/api/v1/ingest/raw-samples",
        "A short window of one node with every sample, or a list of them; gzip is accepted. Rejected first"
        " under load, with 503.",
        {202: IngestAnswer},
        method="post",
        takes=RawSamplesPayload | list[RawSamplesPayload],
        access=COLLECTOR,
    ),
    Operation(
        "listJobs",
        "/api/v1/jobs/",
        "The runs that you may see, newest first; narrowed, the latest first or those with the most unused GPU-hours.",
        {200: JobPage},
        query=("page", "page_size", "limit", "own", "job_days", "job_id", "work", "class", "sort"),
        links=dict.fromkeys(("getJob", *OF_A_RUN), OF_THE_FIRST)
        | {"getProjectSummary": {"project": "$response.body#/results/0/project_id"}},
    ),
    Operation(
        "getJob",
        RUN,
        "The report of one run as data, or its record if there is no report.",
        {200: (JobReport, JobWithoutReport)},
        query=("attempt",),
        links=dict.fromkeys(OF_A_RUN, OF_THE_REPORT)
        | {"getProjectSummary": {"project": "$response.body#/job/project_id"}},
    ),
    Operation(
        "listGpus",
        f"{RUN}gpus/",
        "The measured columns of each GPU.",
        {200: list[dict[str, Any]]},
        query=("attempt",),
        links={"getJob": OF_THE_PATH},
    ),
    *(
        Operation(
            FILES[name],
            f"{RUN}report.{name}",
            "The report as a file.",
            {200: JobReport if name == "json" else str},
            content_types=(form.content_type.partition(";")[0],),
            query=("attempt", "width") if name == "txt" else ("attempt",),
            links={"getJob": OF_THE_PATH},
        )
        for name, form in FORMATS.items()
    ),
    Operation(
        "getRawSamples",
        f"{RUN}raw-samples.csv",
        "Every sample of the raw windows of the run, while they are kept.",
        {200: str},
        content_types=("text/csv",),
        query=("attempt",),
        links={"getJob": OF_THE_PATH},
    ),
    Operation(
        "getProjectSummary",
        "/api/v1/projects/{project}/summary/",
        "A whole project, for its PI.",
        {200: ProjectAnswer},
        query=("days",),
    ),
    *(
        Operation(
            f"getGrantReport{name.capitalize()}",
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
        "/api/v1/flags",
        "The projects whose advisory flag is raised and visible to staff, and the users with one when the week began.",
        {200: FlagList},
        access=POLICY,
    ),
    Operation(
        "listSlurmComments",
        "/api/v1/slurm-comments",
        "New and changed comments for Slurm's accounting, of jobs whose owners opted in; 404 if the site does not.",
        {200: SlurmCommentsAnswer},
        access=COMMENTS,
        query=("place", "comments"),
    ),
    *(
        Operation(
            f"getPolicySchema{name.capitalize()}",
            f"/api/v1/policy/{name}.schema.json",
            f"The JSON Schema of the {what}.",
            {200: dict[str, Any]},
            access=ANYONE,
        )
        for name, what in (("efficiency", "policy export"), ("flags", "list of flags"))
    ),
    Operation(
        "beginDeviceSignIn",
        "/api/v1/device/authorization",
        "Begin the sign-in of a program (RFC 8628); its person approves the code on the portal.",
        {200: DeviceAuthorizationAnswer},
        method="post",
        takes=DeviceAuthorizationRequest,
        access=ANYONE,
        taken_types=(FORM, JSON),
        refusals=dict.fromkeys((400, 415, 429), OAuthError),
    ),
    Operation(
        "fetchDeviceToken",
        "/api/v1/device/token",
        "The token of an approved sign-in, once; before that the error `authorization_pending` or `slow_down`.",
        {200: DeviceTokenAnswer},
        method="post",
        takes=DeviceTokenRequest,
        access=ANYONE,
        taken_types=(FORM, JSON),
        refusals=dict.fromkeys((400, 415, 429), OAuthError),
    ),
    Operation(
        "revokeOwnToken",
        "/api/v1/device/revoke",
        "Revoke the personal token of this call.",
        {204: None},
        method="post",
        access=PROGRAM,
    ),
    Operation("whoAmI", "/api/v1/whoami/", "The person, and the token of this call.", {200: WhoAmIAnswer}),
    Operation(
        "getLessons",
        "/api/v1/education/",
        "From finding code to lesson.",
        {200: dict[str, LessonAnswer]},
        access=ANYONE,
        query=("language",),
    ),
    Operation(
        "getLessonLinks",
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
