"""Running jobs for the page tests: in the queue, measured through the real ingest, with words as the sweep has them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from analysis.early.models import EarlyWord, RunningRun
from analysis.early.thresholds import EARLY_RULES_VERSION
from tests.portal.queue.queued import read
from tests.running import running_job, watched

EIGHT = {"tres_alloc": "cpu=112,mem=480G,node=1,billing=112,gres/gpu=8"}


def measured(job_id: int = 123456, *, cells: dict[str, str] | None = None, **changes: Any) -> RunningRun:
    """One running job of alice's on eight GPUs that were idle for 70 minutes, looked at by the sweep.

    The queue then lists this job alone.
    """
    read(running_job(job_id, cells=EIGHT | (cells or {}), **changes), minutes_ago=0)
    return watched(job_id)


def word(run: RunningRun, code: str = "all_gpus_idle", **changes: Any) -> EarlyWord:
    """A word about it that holds, found a minute ago."""
    now = timezone.now()
    columns = {
        "cluster": run.cluster,
        "job_id": run.job_id,
        "attempt": run.attempt,
        "user": run.user,
        "project": run.project,
        "code": code,
        "confidence": 0.99,
        "is_fact": True,
        "evidence": {"gpus": 8, "idle_s": 4200.0, "since_s": 0.0, "worked_before": 0},
        "is_interactive": False,
        "gpus": 8,
        "started_at": run.started_at,
        "found_at": now - timedelta(minutes=1),
        "held_at": now,
        "rules_version": EARLY_RULES_VERSION,
    } | changes
    return EarlyWord.objects.update_or_create(
        cluster=run.cluster, job_id=run.job_id, attempt=run.attempt, code=code, defaults=columns
    )[0]
