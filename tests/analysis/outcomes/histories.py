"""Stored runs as if each had been judged when it ended, for tests that store all of them at once."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from analysis.models import AdviceDue, JobEfficiency
from analysis.outcomes.services import note_all, settle_due
from jobs.models import Job

SMALL = {
    "gpus_allocated": 2,
    "gpus_requested": 2,
    "gpus_per_node": 2,
    "ntasks": 2,
    "cpus_allocated": 14,
    "memory_requested_gb": 120.0,
}
"""Two GPUs with what comes with them."""


def as_it_was_judged() -> None:
    """Every run was submitted when it started and judged five minutes after its end; then the sweep ran.

    Two GPUs worked at 88 %: that is the use of runs that had no more, whatever else was stored as measured.
    """
    Job.objects.update(submitted_at=F("started_at"))
    JobEfficiency.objects.update(analysed_at=F("ended_at") + timedelta(minutes=5))
    JobEfficiency.objects.filter(allocated_gpus=2).update(avg_gpu_util=88.0)
    AdviceDue.objects.all().delete()
    note_all(timezone.now())
    settle_due(1000, timezone.now())
