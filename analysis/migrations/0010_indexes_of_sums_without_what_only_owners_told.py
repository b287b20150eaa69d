"""The sums' indexes with the column that leaves out what only owners told; the old ones go when the new ones are there."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

SUMMED = [
    *("efficiency_class", "uncounted_reason", "avg_gpu_util", "gpu_hours", "wasted_gpu_hours", "saved_gpu_hours"),
    *("started_at", "finding_codes", "is_told_by_owner"),
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0009_begin_where_the_last_sweep_was")]

    operations = [
        AddIndexConcurrently(
            "jobefficiency",
            models.Index(fields=["user", "ended_at", "job", "project", *SUMMED], name="told_sums_by_user"),
        ),
        AddIndexConcurrently(
            "jobefficiency",
            models.Index(fields=["project", "ended_at", "job", "user", *SUMMED], name="told_sums_by_project"),
        ),
        AddIndexConcurrently(
            "jobefficiency",
            models.Index(
                condition=models.Q(("is_told_by_owner", True)), fields=["project", "ended_at"], name="told_by_project"
            ),
        ),
        RemoveIndexConcurrently("jobefficiency", "sums_by_user"),
        RemoveIndexConcurrently("jobefficiency", "sums_by_project"),
    ]
