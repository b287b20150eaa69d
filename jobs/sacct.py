"""Slurm's accounting, the text of `sacct -P`, as job records; only bad rows are left out, and named."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TypeVar

import msgspec

from jobs.hardware import partition_of, threads_per_core
from jobs.hostlist import node_names
from jobs.records import ENDED_STATES, JobRecord, problems
from jobs.sacct_table import FORMS, BrokenRow, Row, SacctFormatError, table
from jobs.sacct_values import (
    NO_INSTANT,
    NO_NODES,
    clock_s,
    gpu_count,
    instant,
    limit_s,
    memory_gb,
    tres_count,
    tres_memory_gb,
    whole,
)
from wire.safe_text import printable

__all__ = ["SACCT_FIELDS", "Accounting", "LeftOut", "SacctFormatError", "job_runs"]

# Only what a record needs: never SubmitLine, WorkDir or a comment. The name, which its owner chooses,
# comes last so that it cannot shift a column. Restarts is not known to Slurm 22.05 and older.
SACCT_FIELDS: tuple[str, ...] = tuple(
    "JobIDRaw JobID User Account Partition QOS State ExitCode Submit Eligible Start End ElapsedRaw TimelimitRaw NNodes"
    " AllocCPUS ReqTRES AllocTRES NodeList Restarts JobName".split()
)
NEEDED_COLUMNS = ("JobIDRaw", "User", "Account", "State", "Start", "End")

TEXT_SHOWN_MAX = 40
JOB_ID = FORMS["JobIDRaw"]
# An array that never started is one row without a task number: `13_[2-9]`.
ARRAY_TASK = re.compile(r"([0-9]{1,18})_([0-9]{1,18})?")
EARLIEST = datetime.min.replace(tzinfo=UTC)

Value = TypeVar("Value")
Moments = tuple[datetime | None, datetime | None]


@dataclass(frozen=True)
class LeftOut:
    """A row without a record: the line where it begins, the job it is about, and the reason."""

    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}: {self.why}"


@dataclass(frozen=True)
class Accounting:
    """The ended runs of a text, the line where each began, and the rows without a record."""

    records: tuple[JobRecord, ...]
    lines: tuple[int, ...]
    skipped: tuple[LeftOut, ...]


class _Unfit(ValueError):
    """Why a row has no record."""


def job_runs(text: str, *, cluster: str, zone: tzinfo = UTC, delimiter: str | None = None) -> Accounting:
    """The runs in the text of `sacct -P` with a header; steps and jobs that have not ended are skipped.

    `zone` is where times without an offset were printed; `delimiter` None means `|` or the unit separator (0x1f),
    as the header has it. Attempts are the Restarts column; without it the runs of one job id are numbered from
    this text, so it must hold all of them (`sacct -D`). Raises SacctFormatError for text that is not such output.

    >>> header = "JobIDRaw|User|Account|State|Start|End|JobName"
    >>> row = "7|alice|project_465000001|FAILED|2026-11-20T10:00:00|2026-11-20T12:00:00|a|b"
    >>> job_runs(f"{header}\\n{row}\\n", cluster="lumi").records[0].job_name
    'a|b'
    """
    layout, rows = table(text, delimiter)
    missing = [name for name in NEEDED_COLUMNS if name not in layout.columns]
    if missing:
        raise SacctFormatError(f"not sacct -P output with a header: there is no column {', '.join(missing)}")
    whole_rows, skipped = _sorted_out(rows)
    attempts = _attempts(whole_rows, zone)
    records, lines = [], []
    for row in whole_rows:
        try:
            records.append(_record(row, attempts[row.line], cluster, zone))
            lines.append(row.line)
        except ValueError as error:
            skipped.append(LeftOut(row.line, _shown(row.cells["JobIDRaw"]), str(error)))
    return Accounting(tuple(records), tuple(lines), tuple(sorted(skipped, key=lambda left_out: left_out.line)))


def _sorted_out(rows: Iterable[Row | BrokenRow]) -> tuple[list[Row], list[LeftOut]]:
    """The rows of whole jobs, and those that cannot be read."""
    jobs, broken = [], []
    for row in rows:
        if isinstance(row, BrokenRow):
            broken.append(LeftOut(row.line, _shown(row.text), row.why))
        elif not JOB_ID.fullmatch(row.cells["JobIDRaw"]):
            broken.append(LeftOut(row.line, _shown(row.cells["JobIDRaw"]), "JobIDRaw is not a job id"))
        elif "." not in row.cells["JobIDRaw"]:
            jobs.append(row)
    return jobs, broken


def _attempts(rows: Sequence[Row], zone: tzinfo) -> dict[int, int]:
    """The attempt of each row by its line: for a requeued run, Slurm writes the time of the requeue as Submit.

    Rows of the same submission are the same run, unless both started at different times.
    """
    seen: dict[str, set[Moments]] = defaultdict(set)
    moments: dict[int, Moments] = {}
    for row in rows:
        submitted = _lenient(row, "Submit", lambda cell: instant(cell, zone))
        moments[row.line] = submitted, _lenient(row, "Start", lambda cell: instant(cell, zone))
        seen[row.cells["JobIDRaw"]].add(moments[row.line])
    numbers = {job: _numbered(runs) for job, runs in seen.items()}
    attempts = {}
    for row in rows:
        restarts = _lenient(row, "Restarts", whole)
        counted = numbers[row.cells["JobIDRaw"]][moments[row.line]]
        attempts[row.line] = counted if restarts is None else restarts
    return attempts


def _numbered(runs: set[Moments]) -> dict[Moments, int]:
    """0, 1, 2 … in the order of submission; a row that has not started belongs to the run that has."""
    started = {submitted for submitted, start in runs if start}
    distinct = sorted(
        (run for run in runs if run[1] or run[0] not in started),
        key=lambda run: (run[0] or EARLIEST, run[1] or EARLIEST),
    )
    numbers = {run: number for number, run in enumerate(distinct)}
    last_of = {submitted: number for (submitted, _), number in numbers.items()}
    return {run: numbers.get(run, last_of[run[0]]) for run in runs}


def _lenient(row: Row, column: str, reader: Callable[[str], Value | None]) -> Value | None:
    """A cell that may be broken: reading it for the record reports that."""
    try:
        return reader(row.cells.get(column, ""))
    except ValueError:
        return None


def _record(row: Row, attempt: int, cluster: str, zone: tzinfo) -> JobRecord:
    """The record of one row, with every bound of JobRecord held; _Unfit or a ValidationError states what is wrong."""
    cells = row.cells
    state = _state(cells["State"])
    if not cells["User"]:
        raise _Unfit("has no user")
    record = msgspec.convert(
        {
            "cluster": cluster,
            "attempt": attempt,
            "user_id": cells["User"],
            "project_id": cells["Account"],
            "state": state,
            "job_name": cells.get("JobName", ""),
            "partition": cells.get("Partition", ""),
            "qos": cells.get("QOS", ""),
            "exit_code": cells.get("ExitCode", ""),
            "submitted_at": _read(row, lambda cell: instant(cell, zone), "Submit"),
            "eligible_at": _read(row, lambda cell: instant(cell, zone), "Eligible"),
            "ended_at": _read(row, lambda cell: instant(cell, zone), "End"),
            **_ids(row),
            **_time_spans(row),
            **_resources(row, cluster, zone),
        },
        JobRecord,
    )
    for path, message in problems(record):
        raise _Unfit(f"{path} {message}")
    return record


def _read(row: Row, reader: Callable[[str], Value], column: str) -> Value:
    """One cell through its reader; a missing column is read as an empty cell."""
    try:
        return reader(row.cells.get(column, ""))
    except ValueError as error:
        raise _Unfit(f"{column} {error}") from error


def _state(cell: str) -> str:
    """The state without who caused it: `CANCELLED by 1000` is CANCELLED."""
    state = cell.split()[0].rstrip("+") if cell.strip() else ""
    if state not in ENDED_STATES:
        raise _Unfit(f"has not ended ({_shown(state) or 'no state'})")
    return state


def _ids(row: Row) -> dict[str, int | None]:
    """`13_2` is task 2 of array 13; a part of a heterogeneous job, `22+1`, is a separate job by its raw id."""
    task = ARRAY_TASK.match(row.cells.get("JobID", ""))
    return {
        "job_id": _read(row, whole, "JobIDRaw"),
        "array_job_id": int(task[1]) if task else None,
        "array_task_id": int(task[2]) if task and task[2] else None,
    }


def _time_spans(row: Row) -> dict[str, float | None]:
    used_s = _read(row, whole, "ElapsedRaw")
    written = row.cells.get("Timelimit", "")
    return {
        "walltime_requested_s": _read(row, lambda raw: limit_s(raw, written), "TimelimitRaw"),
        "walltime_used_s": _read(row, clock_s, "Elapsed") if used_s is None else float(used_s),
    }


def _resources(row: Row, cluster: str, zone: tzinfo) -> dict[str, object]:
    """What the run requested and was allocated; nothing if it never started, though NNodes repeats its request."""
    nodes = _read(row, lambda cell: () if cell in NO_NODES else node_names(cell), "NodeList")
    threads = _read(row, whole, "AllocCPUS") if row.cells.get("AllocCPUS") else _read(row, whole, "NCPUS")
    node_count = _read(row, whole, "NNodes")
    asked: dict[str, object] = {
        # Slurm may fill ReqTRES some seconds after the end of a short run: an empty one means nothing.
        "gpus_requested": _read(row, gpu_count, "ReqTRES"),
        "nodes_requested": _read(row, lambda cell: tres_count(cell, "node"), "ReqTRES"),
        "memory_requested_gb": _memory_gb(row, node_count, threads),
        "ntasks": _read(row, whole, "NTasks"),
        "nodes": nodes,
    }
    if _never_started(row):
        held_gpus = 0 if "AllocTRES" in row.cells else None
        return asked | {"started_at": None, "node_count": 0, "cpus_allocated": 0, "gpus_allocated": held_gpus}
    return asked | {
        "started_at": _read(row, lambda cell: instant(cell, zone), "Start"),
        "node_count": node_count if node_count is not None else len(nodes) or None,
        "cpus_allocated": None if threads is None else math.ceil(threads / threads_per_core(cluster)),
        "gpus_allocated": _read(row, gpu_count, "AllocTRES"),
        "is_exclusive": _is_exclusive(row, cluster),
    }


def _is_exclusive(row: Row, cluster: str) -> bool | None:
    """True where a run requested whole nodes or was allocated them; None where accounting does not show it.

    Accounting has no field for it. On a partition of whole nodes it is true for every run; elsewhere for a run with
    more GPUs per node than it requested, or with all cores of its nodes and more of them than it requested.
    """
    partition = partition_of(cluster, row.cells.get("Partition", ""))
    if partition is not None and partition.is_exclusive:
        return True
    asked, held = _per_node(row, "ReqTRES"), _per_node(row, "AllocTRES")
    if asked is None or held is None:
        return None
    if held.gpus > asked.gpus:
        return True
    threads = threads_per_core(cluster)
    # Slurm rounds a request up to whole cores, so only more than that exceeds the request.
    whole_cores = math.ceil(asked.cpus / threads) * threads
    is_whole = partition is not None and held.cpus >= partition.node.cores * threads
    return True if is_whole and held.cpus > whole_cores else None


@dataclass(frozen=True)
class _PerNode:
    """What a TRES list names for each of its nodes; `cpus` are Slurm's, hardware threads on LUMI."""

    gpus: float
    cpus: float


def _per_node(row: Row, column: str) -> _PerNode | None:
    """By node, since of a range of nodes (`--nodes=2-4`) the request names the fewest."""
    gpus = _read(row, gpu_count, column)
    nodes = _read(row, lambda cell: tres_count(cell, "node"), column)
    cpus = _read(row, lambda cell: tres_count(cell, "cpu"), column)
    return None if not nodes or gpus is None or cpus is None else _PerNode(gpus / nodes, cpus / nodes)


def _never_started(row: Row) -> bool:
    """No start, or a start without nodes: Slurm writes the end as start of a job that was refused or cancelled."""
    holds_nothing = not row.cells.get("AllocTRES") and row.cells.get("NodeList") in NO_NODES
    return row.cells["Start"] in NO_INSTANT or holds_nothing


def _memory_gb(row: Row, nodes: int | None, threads: int | None) -> float | None:
    """What was allocated, because that is billed; else what was requested."""
    for column in ("AllocTRES", "ReqTRES"):
        held = _read(row, tres_memory_gb, column)
        if held is not None:
            return held
    return _read(row, lambda cell: memory_gb(cell, nodes, threads), "ReqMem")


def _shown(text: str) -> str:
    """The start of a text, safe to print on a terminal."""
    return printable(text[:TEXT_SHOWN_MAX])
