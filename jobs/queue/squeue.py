"""Slurm's queue, the text of `squeue --Format`, as values; only bad rows are left out, and named.

squeue escapes nothing, and the name of a job may contain anything, also line ends. Therefore every field ends with a
mark, and the name comes last: no name shifts a column, and with a mark that nobody can guess, as `jobs.slurm_client`
draws for each call, none looks like a row either.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TypeVar

import msgspec

from jobs.hardware import threads_per_core
from jobs.records import JOB_NAME_LENGTH_MAX, Count, Gigabytes, Instant, JobId, Seconds, Slug, Word
from jobs.sacct import TEXT_SHOWN_MAX, LeftOut
from jobs.sacct_values import clock_s, gpu_count, instant, tres_count, tres_memory_gb, whole
from wire.names import NOTHING
from wire.safe_text import printable
from wire.times import YEARS

# Only what the page of the queue needs: never Command, WorkDir, Comment or another text of the user but the name.
# `tres-alloc` is what a running job holds and what a pending one requests: squeue(1), 22.05 to 25.11.
QUEUE_FIELDS: tuple[str, ...] = tuple(
    "JobID ArrayJobID ArrayTaskID UserName Account Partition QOS State Reason NumNodes tres-alloc OverSubscribe"
    " TimeLimit SubmitTime EligibleTime StartTime Name".split()
)
FILE_MARK = "|"
"""What ends the fields in a file; a name may contain it and look like another row, so such files must be trusted."""

PENDING = frozenset({"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
HOLDING = frozenset({"CONFIGURING", "RESIZING", "RUNNING", "SIGNALING", "STOPPED", "SUSPENDED"})
"""States in which a job holds its nodes and will go on: squeue(1), "JOB STATE CODES"."""

SUSPENDED = frozenset({"STOPPED", "SUSPENDED"})
"""Those of them in which its processes do not run."""

LEAVING = frozenset({"COMPLETING", "REVOKED", "STAGE_OUT"})
"""States of jobs that have ended and are still listed: accounting knows their final state."""

NO_LIMIT = frozenset({"UNLIMITED", "NOT_SET", "INVALID", "Partition_Limit"})
HEADING = "JOBID"
TASKS = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?")
REASON_CODE = re.compile(r"([A-Za-z_]+)(?:[,(].*)?")
REASON_LENGTH_MAX = 64

Value = TypeVar("Value")


class QueueFormatError(ValueError):
    """Text that is not the output of squeue in this format; the message states why."""


class ListedJob(msgspec.Struct, frozen=True, kw_only=True):
    """One pending or running job as squeue lists it; `cores` are physical ones, `memory_gb` is over all nodes (2^30).

    Of a pending job these are what Slurm lists as its request, the least of a range. A row of an array stands for its
    `task_count` pending tasks, and each of them has these resources. None where squeue states nothing.
    """

    job_id: JobId
    user_id: Slug
    project_id: Slug
    is_running: bool
    is_suspended: bool = False
    array_job_id: JobId | None
    array_task_id: Count | None
    task_count: Count
    job_name: str
    partition: Word
    qos: Word
    reason: str
    node_count: Count | None
    gpus: Count | None
    cores: Count | None
    memory_gb: Gigabytes | None
    is_exclusive: bool | None
    time_limit_s: Seconds | None
    submitted_at: Instant | None
    eligible_at: Instant | None
    started_at: Instant | None


@dataclass(frozen=True)
class Queue:
    """The jobs of a cluster's queue, in the order of squeue, and the rows that could not be read."""

    jobs: tuple[ListedJob, ...]
    left_out: tuple[LeftOut, ...]


def queue_format(mark: str) -> str:
    """The value of `--Format` in which every field ends with this mark.

    >>> queue_format("|")[:24]
    'JobID:|,ArrayJobID:|,Arr'
    """
    return ",".join(f"{field}:{mark}" for field in QUEUE_FIELDS)


def queue_of(text: str, *, cluster: str, mark: str = FILE_MARK, zone: tzinfo = UTC) -> Queue:
    """The jobs in the text of `squeue --Format` with these marks; `zone` is where times without an offset were printed.

    An empty text is an empty queue. Raises QueueFormatError where there is text and no row of it can be read.

    >>> row = "7|7|N/A|alice|project_1|small-g|normal|PENDING|Priority|1|cpu=14,node=1,gres/gpu=2|OK|1:00:00"
    >>> (job,) = queue_of(f"{row}|2026-11-20T10:00:00|N/A|N/A|a|b|\\n", cluster="lumi").jobs
    >>> job.job_name, job.gpus, job.cores, job.time_limit_s, job.is_running
    ('a|b', 2, 7, 3600.0, False)
    """
    jobs: dict[int, ListedJob] = {}
    left_out: list[LeftOut] = []
    rows = list(_rows(text, mark))
    if text.strip() and not rows:
        raise QueueFormatError("not squeue output in the format that is read: no line has its fields")
    for line, cells in rows:
        try:
            found = _listed(cells, cluster, zone)
            if found is not None and jobs.setdefault(found.job_id, found) is not found:
                raise ValueError("is listed twice")
        except ValueError as error:
            left_out.append(LeftOut(line, printable(cells["JobID"][:TEXT_SHOWN_MAX]) or "no job id", str(error)))
    if left_out and not jobs:
        raise QueueFormatError(f"no row can be read; {left_out[0]}")
    return Queue(tuple(jobs.values()), tuple(left_out))


def _rows(text: str, mark: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row with the number of its first line; a line without the fields of a row continues a name."""
    began, parts = 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(mark) >= len(QUEUE_FIELDS) - 1:
            yield from _row(began, parts, mark)
            began, parts = number, [line]
        elif parts:
            parts.append(line)
    yield from _row(began, parts, mark)


def _row(line: int, parts: list[str], mark: str) -> Iterator[tuple[int, dict[str, str]]]:
    if parts:
        *cells, name = "\n".join(parts).rstrip("\n").split(mark, len(QUEUE_FIELDS) - 1)
        yield line, dict(zip(QUEUE_FIELDS, [*cells, name.removesuffix(mark)], strict=True))


def _listed(cells: dict[str, str], cluster: str, zone: tzinfo) -> ListedJob | None:
    """The job of one row; None for the heading, and for a job that has ended.

    Raises ValueError with the reason where it cannot be read.
    """
    state = cells["State"]
    if state in LEAVING or cells["JobID"] == HEADING:
        return None
    if state not in PENDING | HOLDING:
        raise ValueError(f"is in no state that is known ({printable(state[:TEXT_SHOWN_MAX]) or 'none'})")
    is_running = state in HOLDING
    submitted_at, eligible_at, started_at = (_instant(cells, field, zone) for field in QUEUE_FIELDS[-4:-1])
    return msgspec.convert(
        {
            "job_id": _read(cells, "JobID", whole),
            "user_id": _user(cells["UserName"]),
            "project_id": _known(cells["Account"], "has no account"),
            "is_running": is_running,
            "is_suspended": state in SUSPENDED,
            "job_name": printable(cells["Name"][:JOB_NAME_LENGTH_MAX]),
            # Of several partitions, a list that may be long, Slurm tries the first one first.
            "partition": _stated(cells["Partition"]).partition(",")[0],
            "qos": _stated(cells["QOS"]),
            "reason": reason_code(cells["Reason"]),
            "time_limit_s": _read(cells, "TimeLimit", lambda cell: None if cell in NO_LIMIT else clock_s(cell)),
            "submitted_at": submitted_at,
            "eligible_at": eligible_at,
            # Of a pending job it is Slurm's guess, which changes all the time.
            "started_at": started_at if is_running else None,
            **_array(cells),
            **_resources(cells, cluster),
        },
        ListedJob,
    )


def _user(cell: str) -> str:
    """The name of the owner; squeue looks it up on the host it runs on, and prints the number where that fails."""
    if cell.isdecimal():
        raise ValueError(f"belongs to user number {cell[:TEXT_SHOWN_MAX]}, whose name squeue does not know here")
    return _known(cell, "has no user")


def _array(cells: dict[str, str]) -> dict[str, int | None]:
    """The array of a row and how many of its tasks the row stands for."""
    tasks = _stated(cells["ArrayTaskID"])
    if not tasks:
        return {"array_job_id": None, "array_task_id": None, "task_count": 1}
    return {
        "array_job_id": _read(cells, "ArrayJobID", whole),
        "array_task_id": int(tasks) if TASKS.fullmatch(tasks) and tasks.isdecimal() else None,
        "task_count": _read(cells, "ArrayTaskID", task_count),
    }


def task_count(written: str) -> int:
    """How many tasks of an array a list of them names. Raises ValueError for anything else.

    >>> task_count("0-9,20,30%4"), task_count("1-250:3"), task_count("7")
    (12, 84, 1)
    """
    count = 0
    for part in written.partition("%")[0].split(","):
        found = TASKS.fullmatch(part)
        if found is None:
            raise ValueError("is not a list of tasks; SLURM_BITSTR_LEN=0 prints all of it")
        first, step = int(found[1]), int(found[3] or 1)
        last = int(found[2] or first)
        if last < first or not step:
            raise ValueError("is not a list of tasks")
        count += (last - first) // step + 1
    return count


def _resources(cells: dict[str, str], cluster: str) -> dict[str, object]:
    tres = _stated(cells["tres-alloc"])
    threads = _read(cells, "tres-alloc", lambda cell: tres_count(cell, "cpu"))
    # NumNodes of a pending job is the most of a range such as 2-4, the list has the least.
    nodes = _read(cells, "tres-alloc", lambda cell: tres_count(cell, "node"))
    shared = _stated(cells["OverSubscribe"])
    return {
        "node_count": _read(cells, "NumNodes", whole) if nodes is None else nodes,
        "gpus": gpu_count(tres),
        "cores": None if threads is None else math.ceil(threads / threads_per_core(cluster)),
        "memory_gb": _read(cells, "tres-alloc", tres_memory_gb),
        "is_exclusive": shared == "NO" if shared else None,
    }


def reason_code(cell: str) -> str:
    """Slurm's reason without the nodes that it may list; empty for none.

    >>> reason_code("ReqNodeNotAvail, UnavailableNodes:nid005001"), reason_code("None")
    ('ReqNodeNotAvail', '')
    """
    found = REASON_CODE.fullmatch(cell)
    return _stated(found[1] if found else printable(cell)[:REASON_LENGTH_MAX])[:REASON_LENGTH_MAX]


def _instant(cells: dict[str, str], field: str, zone: tzinfo) -> datetime | None:
    at = _read(cells, field, lambda cell: instant(cell, zone))
    return at if at is None or at.year in YEARS else None


def _read(cells: dict[str, str], field: str, reader: Callable[[str], Value]) -> Value:
    """One field through its reader, empty where squeue states nothing."""
    try:
        return reader(_stated(cells[field]))
    except ValueError as error:
        raise ValueError(f"{field} {error}") from error


def _known(cell: str, why: str) -> str:
    if not _stated(cell):
        raise ValueError(why)
    return cell


def _stated(cell: str) -> str:
    return "" if cell in NOTHING else cell
