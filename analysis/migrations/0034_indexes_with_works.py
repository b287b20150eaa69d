"""The indexes of sums and of classes hold the work of a run and whether it ended early."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

SUMMED = [
    *("efficiency_class", "uncounted_reason", "avg_gpu_util", "gpu_hours", "wasted_gpu_hours", "saved_gpu_hours"),
    *("started_at", "finding_codes", "is_told_by_owner", "work_key", "ended_early"),
]
WHOSE = (("user", "project"), ("project", "user"))


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0033_fill_work_and_early_end")]

    operations = [
        *(
            AddIndexConcurrently(
                "jobefficiency",
                models.Index(fields=[whose, "ended_at", "job", other, *SUMMED], name=f"judged_sums_by_{whose}"),
            )
            for whose, other in WHOSE
        ),
        *(
            AddIndexConcurrently(
                "jobefficiency",
                models.Index(
                    fields=[whose, "efficiency_class", "job", "uncounted_reason", "ended_early"],
                    name=f"{whose}_by_judged_class",
                ),
            )
            for whose, _ in WHOSE
        ),
        *(RemoveIndexConcurrently("jobefficiency", f"told_sums_by_{whose}") for whose, _ in WHOSE),
        *(RemoveIndexConcurrently("jobefficiency", f"{whose}_by_class") for whose, _ in WHOSE),
    ]
