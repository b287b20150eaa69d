"""The answers of the API's calls, as structs from which the OpenAPI document is generated."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import msgspec

from jobs.records import JobRecord


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
