"""From the stored columns of a run and of its judgement to its row."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from analysis.efficiency import EfficiencyClass
from jobs.hardware import partition_of
from jobs.records import ENDED_STATES, queue_wait_s
from reports.ending import COMPLETED, ending_of
from reports.performance.rows import COLUMNS, PerformanceRow
from wire.safe_text import printable

UNKNOWN = EfficiencyClass.UNKNOWN.value
ENDED_EARLY, NOT_MEASURED = "ended_early", "not_measured"

OF_RUN = (
    *("cluster", "job_id", "attempt", "array_job_id", "array_task_id", "job_name", "work_key", "partition", "qos"),
    *("gpus_requested", "gpus_allocated", "nodes_requested", "node_count", "is_exclusive", "ntasks", "cpus_per_task"),
    *("cpus_allocated", "memory_requested_gb", "walltime_requested_s", "walltime_used_s", "submitted_at"),
    *("started_at", "ended_at", "state", "exit_code", "request", "eligible_at"),
)
"""What the table of runs has under the same name."""

OF_JUDGEMENT = (
    *("gpu_hours", "wasted_gpu_hours", "idle_gpu_hours", "saved_gpu_hours", "coverage_fraction", "is_partial"),
    *("measured_gpus", "effective_gpus", "effective_gpus_fraction", "peak_gpu_mem_gb", "peak_gpu_mem_fraction"),
    *("busy_cores", "host_peak_gb", "io_wait_fraction", "throughput_per_s", "throughput_unit", "missing_nodes"),
    *("rules_version", "analysed_at", "finding_codes", "efficiency_class", "uncounted_reason", "ended_early"),
)
"""What the table of judgements has under the same name."""

STORED = {
    **{name: name for name in OF_RUN},
    **{name: f"efficiency__{name}" for name in OF_JUDGEMENT},
    "user_id": "user__username",
    "project_id": "project__name",
    "reported_by_owner_only": "is_told_by_owner",
    "avg_gpu_util_percent": "efficiency__avg_gpu_util",
    "gpu_energy_j": "efficiency__energy_j",
}
"""What is read of each run, by the name here; the path is from the table of runs."""

TEXTS = tuple(column.name for column in COLUMNS if column.type == "text" and column.name in STORED)
"""Of these an empty one is not known."""

_harmless = lru_cache(maxsize=10_000)(printable)
"""Most names are those of many runs."""

Columns = dict[str, list[Any]]
"""Values of some runs, by column."""


def judged_row(stored: Mapping[str, Any]) -> PerformanceRow:
    """The row of one run; `stored` has the names of `STORED`. An empty text is one that is not known."""
    return next(judged_rows([tuple(stored[name] for name in STORED)]))


def judged_rows(stored: Sequence[Sequence[Any]]) -> Iterator[PerformanceRow]:
    """The rows of some runs, each with the values of `STORED` in their order.

    Made column by column: with two million runs a look-up by name for each value would take most of the time.
    """
    columns = dict(zip(STORED, map(list, zip(*stored, strict=True)), strict=True))
    for name in TEXTS:
        columns[name] = [value or None for value in columns[name]]
    columns |= _of_partition(columns) | _of_end(columns) | _of_class(columns)
    columns["job_name"] = [_harmless(name or "") or None for name in columns["job_name"]]
    columns["partition_requested"] = [
        _harmless(request.get("--partition", "")) or None for request in columns["request"]
    ]
    columns["queue_wait_s"] = list(map(queue_wait_s, columns["eligible_at"], columns["started_at"]))
    columns["finding_codes"] = [(codes or "").strip() or None for codes in columns["finding_codes"]]
    return map(PerformanceRow, *(columns[column.name] for column in COLUMNS))


def _of_partition(columns: Columns) -> Columns:
    found = list(map(partition_of, columns["cluster"], columns["partition"]))
    return {
        "gpu_name": [((each.node.gpu_name if each.node else "") or None) if each else None for each in found],
        "gpu_memory_gb": [float(each.node.gpu_memory_gb) if each and each.node else None for each in found],
        "billing_unit": [each.price.unit if each and each.price else None for each in found],
    }


def _of_end(columns: Columns) -> Columns:
    ends = [
        (state == COMPLETED, ending_of(state, exit_code) or None) if state in ENDED_STATES else (None, None)
        for state, exit_code in zip(columns["state"], columns["exit_code"], strict=True)
    ]
    return {"success": [success for success, _ in ends], "error_details": [error for _, error in ends]}


def _of_class(columns: Columns) -> Columns:
    read = (columns[name] for name in ("efficiency_class", "uncounted_reason", "ended_early"))
    judged = [(given, _not_judged_because(given, reason, early)) for given, reason, early in zip(*read, strict=True)]
    return {
        "efficiency_class": [UNKNOWN if reason else given for given, reason in judged],
        "not_judged_because": [reason for _, reason in judged],
    }


def _not_judged_because(given: str | None, uncounted_reason: str | None, ended_early: bool | None) -> str | None:
    """Why the use of an analysed run is not judged; None where it is, and before the analysis."""
    if given is None:
        return None
    if uncounted_reason:
        return uncounted_reason
    if ended_early:
        return ENDED_EARLY
    return NOT_MEASURED if given == UNKNOWN else None
