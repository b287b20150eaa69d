"""Storing the pipelines of a person."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from analysis.works.models import WorkPipeline
from analysis.works.pipelines import StepRun, pipelines
from analysis.works.selectors import PIPELINE_DAYS, pipeline_runs

COLUMNS = ("passes", "runs", "gpu_hours", "wasted_gpu_hours", "latest_at")


def forget_old_pipelines(now: datetime) -> None:
    """Delete the pipelines without a run in the last days: nothing else would, once a person runs nothing any more."""
    WorkPipeline.objects.filter(latest_at__lt=now - timedelta(days=PIPELINE_DAYS)).delete()


def store_pipelines(user_pk: int, now: datetime) -> None:
    """Replace the pipelines of this person by those of the latest runs; nothing is written where none changed."""
    by_project: dict[int, list[StepRun]] = defaultdict(list)
    for project, run in pipeline_runs(user_pk, now):
        by_project[project].append(run)
    found: list[dict[str, Any]] = [
        {
            "project_id": project,
            "work_keys": list(each.work_keys),
            "latest": list(each.latest),
            **{name: getattr(each, name) for name in COLUMNS},
        }
        for project, runs in sorted(by_project.items())
        for each in pipelines(runs)
    ]
    stored = WorkPipeline.objects.filter(user=user_pk)
    if list(stored.order_by("pk").values("project_id", "work_keys", "latest", *COLUMNS)) == found:
        return
    with transaction.atomic():
        stored.delete()
        WorkPipeline.objects.bulk_create(WorkPipeline(user_id=user_pk, **columns) for columns in found)
