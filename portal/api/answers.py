"""The answers of the API's calls, as structs from which the OpenAPI document is generated."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal

import msgspec

from jobs.records import JobRecord
from reports.job_report import JobReport


class FieldProblem(msgspec.Struct, frozen=True):
    """What is wrong with one field."""

    path: str
    message: str


class RejectedRecord(msgspec.Struct, frozen=True):
    """A record of a batch that was rejected."""

    index: int
    errors: list[FieldProblem]


class IngestAnswer(msgspec.Struct, frozen=True):
    """2xx: everything counted as accepted or duplicate is committed."""

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
    """One page of runs, newest first; each is a job record with its `efficiency`.

    `is_told_by_owner` is true until a record of the site has confirmed what the owner's own run of the collector sent.
    """

    count: int
    next: str | None
    previous: str | None
    results: list[dict[str, Any]]


class JobWithoutReport(msgspec.Struct, frozen=True):
    """A run whose report does not exist yet."""

    job: JobRecord
    efficiency: None
    is_told_by_owner: bool


@dataclass(frozen=True)
class LatestReport(JobReport):
    """The report of the latest run; `of_work` says what its work as a whole suggests, where that is something else."""

    of_work: str = ""


class LatestWithoutReport(JobWithoutReport, frozen=True):
    """The latest run, whose report does not exist yet; `of_work` is empty."""

    of_work: str = ""


class LinkAnswer(msgspec.Struct, frozen=True):
    """A link to further reading."""

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


class DeviceAuthorizationRequest(msgspec.Struct, frozen=True):
    """What a program sends to begin a sign-in; `device_name` is what its token is called under Settings.

    With the scope `runs` its token logs experiments and runs, and reads no jobs.
    """

    client_id: Literal["kaiku-cli"]
    scope: Literal["read", "runs"] = "read"
    device_name: Annotated[str, msgspec.Meta(max_length=256)] = ""


class DeviceAuthorizationAnswer(msgspec.Struct, frozen=True):
    """RFC 8628, section 3.2: the codes; `expires_in` and `interval` in seconds."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceTokenRequest(msgspec.Struct, frozen=True):
    """RFC 8628, section 3.4."""

    grant_type: Literal["urn:ietf:params:oauth:grant-type:device_code"]
    device_code: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    client_id: Literal["kaiku-cli"]


class DeviceTokenAnswer(msgspec.Struct, frozen=True):
    """RFC 6749, section 5.1: a personal token of the scope; `expires_in` in seconds."""

    access_token: str
    token_type: str
    expires_in: int
    scope: str


class OAuthError(msgspec.Struct, frozen=True):
    """RFC 6749, section 5.2, and RFC 8628, section 3.5: why there is no token, or not yet."""

    error: str


class TokenAnswer(msgspec.Struct, frozen=True):
    """The personal token of a call."""

    name: str
    expires_at: datetime


class WhoAmIAnswer(msgspec.Struct, frozen=True):
    """The person of a call; `token` is null for a session of the portal."""

    user: str
    display_name: str | None
    token: TokenAnswer | None
    scopes: list[str]


class SlurmCommentAnswer(msgspec.Struct, frozen=True):
    """What Slurm's AdminComment of one job should be: of the attempt that started then, and of no other."""

    cluster: str
    job_id: int
    started_at: datetime
    text: str


class SlurmCommentsAnswer(msgspec.Struct, frozen=True):
    """New and changed comments, and the `since` of the next call; it stays the same where nothing follows."""

    comments: list[SlurmCommentAnswer]
    next_since: int


class ClassAnswer(msgspec.Struct, frozen=True):
    """One class of the jobs counted in a period."""

    efficiency_class: str
    jobs: int
    gpu_hours: float


class FindingAnswer(msgspec.Struct, frozen=True):
    """One finding of the jobs counted in a period.

    `wasted_gpu_hours` are of the jobs that it is the first cause of: over all findings no hour counts twice.
    """

    code: str
    jobs: int
    wasted_gpu_hours: float


class AllocationAnswer(msgspec.Struct, frozen=True):
    """GPU-hours of a project as a directory states them; `used_gpu_hours` is null if the directory does not count the
    use."""

    gpu_hours: float
    used_gpu_hours: float | None
    begins_on: date | None
    ends_on: date | None
    source: str
    read_at: datetime


class ProjectAnswer(msgspec.Struct, frozen=True):
    """A project over the last `days`. Jobs that were too short, or that failed because of the system, are not counted.

    `owner_reported_jobs`, for which the site has sent no record, are not counted in any other number either.
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
