"""A job run as Slurm reports it: the `job-record/1` payload, decoded and cleaned at the border.

The same value object carries a run from the epilog, from sacct and back out of the database.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from jobs.hostlist import short_name
from wire.names import NODE, SLUG, WORD
from wire.safe_text import printable, printable_lines
from wire.sbatch.resources import RESOURCES
from wire.times import YEARS, impossible_times

SCHEMA = "job-record/1"
JOB_NAME_LENGTH_MAX = 256
OPTION_LENGTH_MAX = 64

# Resource options only: command lines, scripts, environment and directories are never stored.
RESOURCE_OPTIONS = frozenset(f"--{name}" for name in RESOURCES)

# slurm.conf(5), "JOB STATE CODES" of squeue(1): states after which a run no longer changes.
ENDED_STATES = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REQUEUED REVOKED TIMEOUT".split()
)
# In these states the system ended the run, not the user: a requeued run continues as the next attempt, a revoked one on
# another cluster of the federation.
SYSTEM_FAILURES = frozenset({"BOOT_FAIL", "NODE_FAIL", "PREEMPTED", "REQUEUED", "REVOKED"})

# No run waits in a queue for longer: a longer time comes from a clock that was not set.
QUEUE_WAIT_S_MAX = 2 * 366 * 86_400.0

INSTANTS = ("submitted_at", "eligible_at", "started_at", "ended_at")

Slug = Annotated[str, Meta(pattern=rf"\A{SLUG}\Z")]
NodeName = Annotated[str, Meta(pattern=rf"\A{NODE}\Z")]
Word = Annotated[str, Meta(pattern=rf"\A{WORD}\Z")]
JobId = Annotated[int, Meta(ge=1, le=2**53)]
Count = Annotated[int, Meta(ge=0, le=10**7)]
Seconds = Annotated[float, Meta(ge=0, le=10**9)]
Gigabytes = Annotated[float, Meta(ge=0, le=10**7)]
Instant = Annotated[datetime, Meta(tz=True)]


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of one job; `cpus_*` are physical cores, `memory_requested_gb` is over all nodes (2^30 bytes).

    `request` holds the resource options in the user's own spelling, for example `{"--gpus": "8"}`; an option without a
    value, `--exclusive`, has an empty one. `is_exclusive`: the run requested whole nodes or was allocated them.
    `nodes_requested` is the least number of a range such as `--nodes=2-4`. `eligible_at` is when only the queue still
    delayed the run: after its `--begin`, its dependencies and any hold.
    """

    cluster: Slug
    job_id: JobId
    user_id: Slug
    project_id: Slug
    state: Word
    schema: str = SCHEMA
    attempt: Count = 0
    array_job_id: JobId | None = None
    array_task_id: Count | None = None
    job_name: str = ""
    partition: Word = ""
    qos: Word = ""
    exit_code: Word = ""
    nodes: Annotated[tuple[NodeName, ...], Meta(max_length=20_000)] = ()
    node_count: Count | None = None
    nodes_requested: Count | None = None
    is_exclusive: bool | None = None
    gpus_requested: Count | None = None
    gpus_per_node: Count | None = None
    gpus_allocated: Count | None = None
    ntasks: Count | None = None
    ntasks_per_node: Count | None = None
    cpus_allocated: Count | None = None
    cpus_per_task: Count | None = None
    memory_requested_gb: Gigabytes | None = None
    walltime_requested_s: Seconds | None = None
    walltime_used_s: Seconds | None = None
    submitted_at: Instant | None = None
    eligible_at: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    request: dict[str, str] = {}
    script_key: Annotated[str, Meta(max_length=128)] = ""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "job_name", printable(self.job_name)[:JOB_NAME_LENGTH_MAX])
        msgspec.structs.force_setattr(self, "script_key", printable(self.script_key))
        if not _is_possible(self.eligible_at):
            msgspec.structs.force_setattr(self, "eligible_at", None)
        for name in INSTANTS:
            at = getattr(self, name)
            if at is not None and at.tzinfo is not UTC and _is_possible(at):
                msgspec.structs.force_setattr(self, name, at.astimezone(UTC))
        msgspec.structs.force_setattr(self, "request", resource_options(self.request))

    @property
    def key(self) -> tuple[str, int, int]:
        return self.cluster, self.job_id, self.attempt

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES

    @property
    def queue_wait_s(self) -> float | None:
        """Seconds from when the run could start until it did; None where either is not known or they disagree."""
        return queue_wait_s(self.eligible_at, self.started_at)

    @property
    def is_system_failure(self) -> bool:
        return self.state in SYSTEM_FAILURES


def queue_wait_s(eligible_at: datetime | None, started_at: datetime | None) -> float | None:
    """As `JobRecord.queue_wait_s`, where only these two are at hand."""
    if eligible_at is None or started_at is None:
        return None
    waited_s = (started_at - eligible_at).total_seconds()
    return waited_s if 0 <= waited_s <= QUEUE_WAIT_S_MAX else None


def all_printable(value: Any) -> Any:
    """A JSON value with the same done to every text in it, names of members left as they are."""
    if isinstance(value, str):
        return value if value.isprintable() and value.isascii() else printable_lines(value)
    if isinstance(value, dict):
        return {name: all_printable(item) for name, item in value.items()}
    return [all_printable(item) for item in value] if isinstance(value, list) else value


def resource_options(options: dict[str, str]) -> dict[str, str]:
    """Only the options that request resources, values cut to a sensible length."""
    return {name: printable(value)[:OPTION_LENGTH_MAX] for name, value in options.items() if name in RESOURCE_OPTIONS}


def _is_possible(at: datetime | None) -> bool:
    return at is None or at.year in YEARS


def problems(record: JobRecord) -> list[tuple[str, str]]:
    """Contradictions between fields: `(path, message)` of each, empty when there is none."""
    found = impossible_times(submitted_at=record.submitted_at, started_at=record.started_at, ended_at=record.ended_at)
    if len({short_name(node) for node in record.nodes}) != len(record.nodes):
        found.append(("nodes", "names the same node twice"))
    return found
