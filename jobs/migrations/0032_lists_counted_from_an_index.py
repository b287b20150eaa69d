"""The indexes of a person's and of a project's list hold what it is narrowed to: counting reads no rows."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

WHOSE = ("user", "project")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0031_index_of_queues")]

    operations = [
        *(
            AddIndexConcurrently(
                model_name="job",
                index=models.Index(
                    fields=[whose, "ended_at", "id"],
                    include=["partition", "state", "job_name"],
                    name=f"job_of_{whose}",
                ),
            )
            for whose in WHOSE
        ),
        *(RemoveIndexConcurrently(model_name="job", name=f"job_by_{whose}") for whose in WHOSE),
    ]
