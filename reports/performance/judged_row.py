"""From the stored columns of a run and of its judgement to its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.efficiency import EfficiencyClass
from jobs.hardware import partition_of
from jobs.records import ENDED_STATES, printable, queue_wait_s
from reports.ending import COMPLETED, ending_of
from reports.performance.rows import PerformanceRow

UNKNOWN = EfficiencyClass.UNKNOWN.value
ENDED_EARLY, NOT_MEASURED = "ended_early", "not_measured"

OF_RUN = (
    *("cluster", "job_id", "attempt", "array_job_id", "array_task_id", "job_name", "work_key", "partition", "qos"),
    *("gpus_requested", "gpus_allocated", "nodes_requested", "node_count", "is_exclusive", "ntasks", "cpus_per_task"),
    *("cpus_allocated", "memory_requested_gb", "walltime_requested_s", "walltime_used_s", "submitted_at"),
    *("started_at", "ended_at", "state", "exit_code"),
)
"""Columns that the table of runs has under the same name."""

OF_JUDGEMENT = (
    *("gpu_hours", "wasted_gpu_hours", "idle_gpu_hours", "saved_gpu_hours", "coverage_fraction", "is_partial"),
    *("measured_gpus", "effective_gpus", "effective_gpus_fraction", "peak_gpu_mem_gb", "peak_gpu_mem_fraction"),
    *("busy_cores", "host_peak_gb", "io_wait_fraction", "throughput_per_s", "throughput_unit", "missing_nodes"),
    *("rules_version", "analysed_at"),
)
"""Columns that the table of judgements has under the same name."""

STORED = {
    **{name: name for name in OF_RUN},
    **{name: f"efficiency__{name}" for name in OF_JUDGEMENT},
    "user_id": "user__username",
    "project_id": "project__name",
    "reported_by_owner_only": "is_told_by_owner",
    "avg_gpu_util_percent": "efficiency__avg_gpu_util",
    "gpu_energy_j": "efficiency__energy_j",
    "finding_codes": "efficiency__finding_codes",
    "efficiency_class": "efficiency__efficiency_class",
    "request": "request",
    "eligible_at": "eligible_at",
    "uncounted_reason": "efficiency__uncounted_reason",
    "ended_early": "efficiency__ended_early",
}
"""What is read of each run, by the name here; the path is from the table of runs."""

READ_ONLY = ("request", "eligible_at", "uncounted_reason", "ended_early")
"""What the row is derived from and does not show."""


def judged_row(stored: Mapping[str, Any]) -> PerformanceRow:
    """The row of one run; `stored` has the names of `STORED`. An empty text is one that is not known."""
    shown = {name: None if value == "" else value for name, value in stored.items() if name not in READ_ONLY}
    partition = partition_of(stored["cluster"], stored["partition"])
    node, price = (partition.node, partition.price) if partition else (None, None)
    has_ended = stored["state"] in ENDED_STATES
    reason = _not_judged_because(stored)
    return PerformanceRow(
        **shown
        | {
            "job_name": printable(stored["job_name"]) or None,
            "partition_requested": printable(stored["request"].get("--partition", "")) or None,
            "gpu_name": (node.gpu_name if node else "") or None,
            "gpu_memory_gb": float(node.gpu_memory_gb) if node else None,
            "queue_wait_s": queue_wait_s(stored["eligible_at"], stored["started_at"]),
            "success": stored["state"] == COMPLETED if has_ended else None,
            "error_details": (ending_of(stored["state"], stored["exit_code"]) or None) if has_ended else None,
            "billing_unit": price.unit if price else None,
            "efficiency_class": UNKNOWN if reason else stored["efficiency_class"],
            "not_judged_because": reason,
            "finding_codes": (stored["finding_codes"] or "").strip() or None,
        }
    )


def _not_judged_because(stored: Mapping[str, Any]) -> str | None:
    """Why the use of an analysed run is not judged; None where it is, and before the analysis."""
    if stored["efficiency_class"] is None:
        return None
    if stored["uncounted_reason"]:
        return str(stored["uncounted_reason"])
    if stored["ended_early"]:
        return ENDED_EARLY
    return NOT_MEASURED if stored["efficiency_class"] == UNKNOWN else None
