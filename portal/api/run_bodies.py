"""The bodies of calls that write experiments and runs, and what of them the services take."""

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec
from django.core.exceptions import RequestDataTooBig
from django.http import RawPostDataException
from msgspec import Meta
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from jobs.experiments.limits import NAME_LENGTH_MAX
from jobs.experiments.models import RUN_ID_LENGTH
from jobs.experiments.rules import NotAccepted, flat_texts
from jobs.experiments.services.artifacts import StatedFile
from jobs.experiments.services.runs import RunChange, StatedJob
from jobs.experiments.status import Reported
from jobs.records import JobId, Slug
from portal.ingest.explain import first_problem
from wire.names import SLUG

FILES_MAX = 100
Name = Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX)]
ProjectName = Annotated[str, Meta(pattern=rf"\A({SLUG})?\Z")]
RunId = Annotated[str, Meta(pattern=rf"\A[0-9a-f]{{{RUN_ID_LENGTH}}}\Z")]
Texts = dict[str, str]


class ExperimentRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new experiment. `project`: its PI sees it too; with `is_shared` every member."""

    name: Name
    project: ProjectName = ""
    is_shared: bool = False
    tags: Texts = {}


class ExperimentChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of an experiment is to change; an empty `project` makes it private."""

    name: Name | None = None
    project: ProjectName | None = None
    is_shared: bool | None = None
    tags: Texts | None = None


class RunRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new run. `config` is any JSON object: its members are kept as text, nested ones by their path.

    The cluster is needed only where the number is that of jobs of yours on several clusters.
    """

    slurm_job_id: JobId | None = None
    cluster: Slug | None = None
    seed: int | str | None = None
    config: dict[str, Any] = {}
    name: Annotated[str, Meta(max_length=NAME_LENGTH_MAX)] = ""
    tags: Texts = {}
    started_at: datetime | None = None
    parent_run_id: RunId | None = None


class RunPatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a script reports of its run. Members of `config` that are known keep their value; `tags` get the new one."""

    status: Reported | None = None
    ended_at: datetime | None = None
    name: Annotated[str, Meta(max_length=NAME_LENGTH_MAX)] | None = None
    config: dict[str, Any] = {}
    tags: Texts = {}
    slurm_job_id: JobId | None = None
    cluster: Slug | None = None


class ArtifactRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file on shared storage, by its path; `kind` is "checkpoint", "log" or "file"."""

    path: str
    kind: str = "file"
    step: int | None = None
    size_bytes: int | None = None


class Unreadable(APIException):
    """The body is not JSON."""

    status_code = 400
    default_detail = "The body is not JSON."


class Unfit(APIException):
    """The body has another shape than the call takes, or what it asks for is not accepted."""

    status_code = 422

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{path}: {message}" if path else message for path, message in problems))


Body = TypeVar("Body")


def body_of(request: Request, kind: type[Body]) -> Body:
    """The body of a call. Raises Unreadable, Unfit."""
    try:
        content = bytes(request._request.body)
    except (RawPostDataException, RequestDataTooBig):
        raise Unreadable from None
    try:
        found: Body = msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise Unfit([first_problem(error)]) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Unreadable from None
    return found


def change_of(asked: RunRequest | RunPatch) -> RunChange:
    """What a body reports of a run. Raises NotAccepted."""
    try:
        params = flat_texts(asked.config)
    except RecursionError:
        raise NotAccepted([("config", "is nested too deeply")]) from None
    if isinstance(asked, RunPatch):
        return RunChange(asked.name, asked.status, aware(asked.ended_at), params, asked.tags)
    seed = None if asked.seed is None else str(asked.seed)[:64]
    return RunChange(asked.name or None, params=params, tags=asked.tags, seed=seed)


def stated_job(asked: RunRequest | RunPatch) -> StatedJob | None:
    """The job that a body states."""
    return StatedJob(asked.slurm_job_id, asked.cluster or "") if asked.slurm_job_id else None


def stated_files(asked: ArtifactRequest | list[ArtifactRequest]) -> list[StatedFile]:
    """The files that a body states. Raises NotAccepted."""
    files = asked if isinstance(asked, list) else [asked]
    if not 1 <= len(files) <= FILES_MAX:
        raise NotAccepted([("", f"must be one file, or a list of 1 to {FILES_MAX}")])
    return [StatedFile(file.path, file.kind, file.step, file.size_bytes) for file in files]


def aware(at: datetime | None) -> datetime | None:
    """The time, in UTC where it names no zone."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
