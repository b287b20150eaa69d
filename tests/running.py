"""Jobs that still run, as squeue lists them and the collectors of their nodes measured them so far."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from analysis.early.models import RunningRun
from analysis.early.services import watch_running
from metrics.services import record_node_summary
from tests.jobs.queue.listing import row
from tests.payloads import decoded, gpu, interim

STEP_S = 60.0
QUIET = {"cores_allocated": 56, "busy_cores_avg": 0.1, "recent_busy_cores": 0.1, "peak_memory_gb": 80.2}
"""A host on which nothing but a shell runs."""


def running_job(
    job_id: int = 123456,
    *,
    utils: Sequence[Sequence[float | None]] = ((0.0,) * 70,) * 8,
    cells: dict[str, str] | None = None,
    **changes: Any,
) -> str:
    """Store what one node sent of a job so far, `utils` percent of each GPU in each minute; the job's row in squeue.

    It started as many minutes ago as there are values, and a minute more.
    """
    minutes = len(utils[0])
    started_at = timezone.now() - timedelta(minutes=minutes + 1)
    until = started_at + timedelta(minutes=minutes)
    known: dict[str, Any] = {
        "job_id": job_id,
        "started_at": _text(started_at),
        "ended_at": _text(until),
        "cpu": QUIET,
        "recent_s": min(3600.0, minutes * 60.0),
        "gpus": [_gpu(number, use) for number, use in enumerate(utils)],
    }
    payload = interim(**known | changes)
    record_node_summary(decoded(payload))
    number = str(job_id)
    return row(JobID=number, ArrayJobID=number, StartTime=started_at.strftime("%Y-%m-%dT%H:%M:%S"), **(cells or {}))


def watched(job_id: int = 123456, now: datetime | None = None) -> RunningRun:
    """The running job once the sweep has looked at it."""
    watch_running(1000, now or timezone.now())
    return RunningRun.objects.get(job_id=job_id)


def _gpu(number: int, use: Sequence[float | None]) -> dict[str, Any]:
    known = [value for value in use if value is not None]
    mean = sum(known) / len(known)
    idle_s = STEP_S * sum(value <= 1 for value in known)
    measured_s = STEP_S * len(known)
    bins: dict[str, float] = {}
    for value in known:
        bins[str(round(value))] = bins.get(str(round(value)), 0.0) + STEP_S
    return gpu(
        number,
        mean,
        samples=round(measured_s),
        measured_s=measured_s,
        active_s=measured_s - idle_s,
        idle_s=idle_s,
        p95_util=max(known),
        util_histogram_s=bins,
        timeline={"step_s": STEP_S, "util": list(use), "mem_gb": [30.0] * len(use)},
    )


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
