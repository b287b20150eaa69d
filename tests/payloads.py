"""Payloads as a collector and an epilog send them: small, plain, and changed by the test that needs another."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from jobs.records import JobRecord
from metrics.payloads import NodePayload, problems
from metrics.raw_samples import RawSamplesPayload

STARTED_AT, ENDED_AT = "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z"
ELAPSED_S = 7200.0


def gpu(gpu_id: int = 0, avg_util: float | None = 90.0, **changes: Any) -> dict[str, Any]:
    """One GPU that was busy at `avg_util` percent through two hours."""
    steady = {} if avg_util is None else _steady(avg_util)
    return {"gpu_id": gpu_id, "module_id": gpu_id // 2, "mem_total_gb": 64.0, "peak_mem_gb": 40.0} | steady | changes


def _steady(avg_util: float, elapsed_s: float = ELAPSED_S) -> dict[str, Any]:
    is_idle, minutes = avg_util <= 1, round(elapsed_s / 60)
    return {
        "avg_util": avg_util,
        "p95_util": avg_util,
        "samples": round(elapsed_s),
        "measured_s": elapsed_s,
        "active_s": 0.0 if is_idle else elapsed_s,
        "idle_s": elapsed_s if is_idle else 0.0,
        "util_histogram_s": {str(round(avg_util)): elapsed_s},
        "timeline": {"step_s": 60.0, "util": [avg_util] * minutes, "mem_gb": [30.0] * minutes},
    }


def summary(utils: list[float] | None = None, **changes: Any) -> dict[str, Any]:
    """A final node summary of one GPU for each number in `utils`."""
    return {
        "schema": "node-summary/1",
        "cluster": "lumi",
        "job_id": 123456,
        "attempt": 0,
        "node": "nid005123",
        "sequence": 1,
        "final": True,
        "started_at": STARTED_AT,
        "ended_at": ENDED_AT,
        "interval_s": 1.0,
        "collector_version": "1.0.0",
        "gpus": [gpu(index, util) for index, util in enumerate([90.0] * 8 if utils is None else utils)],
        "cpu": {
            "cores_allocated": 56,
            "busy_cores_avg": 7.9,
            "ranks": 8,
            "peak_memory_gb": 80.2,
            "idle_fraction": 0.85,
        },
        "errors": [],
    } | changes


def interim(
    utils: list[float] | None = None,
    *,
    power_w: float = 100.0,
    busy_cores: float = 6.5,
    memory_gb: list[float | None] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A summary of a run that goes on, of its first ten minutes: one GPU in two reports the power of their module."""
    payload = summary(final=False, ended_at="2026-11-20T10:10:00Z", recent_s=600.0)
    numbers = enumerate([90.0] * 8 if utils is None else utils)
    gpus = [gpu(index, None) | _steady(util, 600.0) for index, util in numbers]
    for even in gpus[::2]:
        even["recent_power_avg_w"] = power_w
    points = [2.0] * 10 if memory_gb is None else memory_gb
    cpu = payload["cpu"] | {"recent_busy_cores": busy_cores, "memory_timeline": {"step_s": 60.0, "gb": points}}
    return payload | {"gpus": gpus, "cpu": cpu} | changes


def record(**changes: Any) -> dict[str, Any]:
    """alice's completed job on a whole small-g node, two hours of four asked for."""
    return {
        "schema": "job-record/1",
        "cluster": "lumi",
        "job_id": 123456,
        "attempt": 0,
        "user_id": "alice",
        "project_id": "project_465000001",
        "job_name": "train",
        "partition": "small-g",
        "state": "COMPLETED",
        "exit_code": "0:0",
        "nodes": ["nid005123"],
        "node_count": 1,
        "gpus_requested": 8,
        "gpus_per_node": 8,
        "gpus_allocated": 8,
        "ntasks": 8,
        "cpus_allocated": 56,
        "cpus_per_task": 7,
        "memory_requested_gb": 480.0,
        "walltime_requested_s": 10800,
        "walltime_used_s": 7200,
        "submitted_at": "2026-11-20T09:50:00Z",
        "started_at": STARTED_AT,
        "ended_at": ENDED_AT,
        "request": {"--gpus-per-node": "8", "--ntasks-per-node": "8", "--time": "03:00:00"},
    } | changes


def raw_samples(*gpus: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Three ticks of the last ten minutes of a node, of one GPU unless others are given."""
    one = {"gpu_id": 0, "util": [93, 94.5, None], "mem_gb": [9.81, 9.81, None]}
    return {
        "schema": "raw-samples/1",
        "cluster": "lumi",
        "job_id": 123456,
        "attempt": 0,
        "node": "nid005123",
        "started_at": "2026-11-20T11:50:00Z",
        "ended_at": ENDED_AT,
        "interval_s": 1.0,
        "collector_version": "1.0.0",
        "at_s": [0.0, 0.61, 1.9],
        "gpus": list(gpus) or [one],
    } | changes


def raw_payload(*gpus: dict[str, Any], **changes: Any) -> RawSamplesPayload:
    return msgspec.convert(raw_samples(*gpus, **changes), RawSamplesPayload)


def node_payload(*args: Any, **changes: Any) -> NodePayload:
    return msgspec.convert(summary(*args, **changes), NodePayload, str_keys=True)


def job_record(**changes: Any) -> JobRecord:
    return msgspec.convert(record(**changes), JobRecord)


def errors_of(summary: dict[str, Any] | NodePayload) -> tuple[str, ...]:
    """What a node said that went wrong, but for standstills of sampling: a busy machine runs no program for a while."""
    errors = summary["errors"] if isinstance(summary, dict) else summary.errors
    return tuple(error for error in errors if not error.startswith("sampling stood still for "))


def decoded(payload: dict[str, Any]) -> NodePayload:
    """A node summary as the portal reads it, which must find nothing wrong with it."""
    found = msgspec.json.decode(json.dumps(payload, allow_nan=False), type=NodePayload)
    assert problems(found) == []
    return found
