"""The judgements that are stored get the work of their run, and whether this ended early, some at a time."""

from datetime import timedelta

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Exists, F, OuterRef, Q, Subquery

BATCH_ROWS = 10_000
STATES = ("CANCELLED", "FAILED")
EARLY_END_S = 600
"""As `analysis.thresholds.Limits.early_end_s` was then."""


def fill(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    judged, jobs = apps.get_model("analysis", "JobEfficiency").objects, apps.get_model("jobs", "Job").objects
    own = jobs.filter(pk=OuterRef("job_id"))
    by_times = Q(walltime_used_s=None, ended_at__lt=F("started_at") + timedelta(seconds=EARLY_END_S))
    early = own.filter(Q(walltime_used_s__lt=EARLY_END_S) | by_times, state__in=STATES)
    last = 0
    while keys := list(judged.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:BATCH_ROWS]):
        rows = judged.filter(pk__range=(keys[0], keys[-1]))
        rows.update(work_key=Subquery(own.values("work_key")), ended_early=Exists(early))
        last = keys[-1]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("analysis", "0032_work_and_early_end_of_judgements"),
        ("jobs", "0036_smaller_indexes_of_works"),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
