"""Jobs in the queue for the page tests, stored as a reading of squeue stores them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from jobs.models import Project, ProjectAllocation, QueuedJob
from jobs.queue.services import store_queue
from jobs.queue.squeue import queue_of
from tests.jobs.queue.listing import pending, row

PROJECT = "project_465000001"


def read(*rows: str, cluster: str = "lumi", minutes_ago: float = 1.0) -> datetime:
    """Read a queue of these rows so long ago; when that was."""
    read_at = timezone.now() - timedelta(minutes=minutes_ago)
    store_queue(cluster, queue_of("".join(rows), cluster=cluster), read_at)
    return read_at


def started(job_id: int, hours_ago: float = 1.0, **cells: str) -> str:
    """A running job that had run for so long when the queue was read, a minute ago."""
    return row(JobID=str(job_id), ArrayJobID=str(job_id), StartTime=_clock(hours_ago), **cells)


def waiting(job_id: int, hours_ago: float = 2.0, **cells: str) -> str:
    """A pending job that had waited for so long."""
    cells = {"EligibleTime": _clock(hours_ago)} | cells
    return pending(JobID=str(job_id), ArrayJobID=str(job_id), **cells)


def allocate(left: float | None, gpu_hours: float = 1000.0, name: str = PROJECT, **columns: Any) -> ProjectAllocation:
    """An allocation of a project with so much left."""
    today = timezone.localdate()
    columns = {
        "project": Project.objects.get_or_create(name=name)[0],
        "source": "lumi",
        "gpu_hours": gpu_hours,
        "used_gpu_hours": None if left is None else gpu_hours - left,
        "begins_on": today - timedelta(days=100),
        "ends_on": today + timedelta(days=265),
        "read_at": timezone.now(),
    } | columns
    return ProjectAllocation.objects.create(**columns)


def grow(numbers: range, user: str = "alice") -> None:
    """For each number a running and a pending job more in the queue that was read already."""
    known = QueuedJob.objects.filter(cluster="lumi", user__username=user)
    for job in (known.filter(state="RUNNING").first(), known.filter(state="PENDING").first()):
        for number in numbers:
            job.pk, job.job_id = None, 10_000 * number + job.job_id
            job.save(force_insert=True)


def _clock(hours_ago: float) -> str:
    at = timezone.now() - timedelta(minutes=1, hours=hours_ago)
    return f"{at:%Y-%m-%dT%H:%M:%S}"
