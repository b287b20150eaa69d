"""The order by GPUs, and the sums by work, of one owner and of one project."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0023_saved_filters")]

    operations = [
        AddIndexConcurrently("job", models.Index(fields=["user", "gpus_allocated", "id"], name="user_by_gpus")),
        AddIndexConcurrently("job", models.Index(fields=["project", "gpus_allocated", "id"], name="project_by_gpus")),
        *(
            AddIndexConcurrently(
                "job",
                models.Index(
                    fields=[whose, "work_key"],
                    include=[other, "ended_at", "id", "state", "walltime_used_s", "started_at"],
                    name=f"{whose}_by_work",
                ),
            )
            for whose, other in (("user", "project"), ("project", "user"))
        ),
    ]
