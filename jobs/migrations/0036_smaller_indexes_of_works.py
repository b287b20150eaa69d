"""Sums by work read their hours from the judgements: the runs' own indexes hold only what counts them."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

WHOSE = (("user", "project"), ("project", "user"))


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0035_slurm_comments_and_their_tokens")]

    operations = [
        *(
            AddIndexConcurrently(
                model_name="job",
                index=models.Index(
                    fields=[whose, "work_key"], include=[other, "ended_at", "id"], name=f"works_of_{whose}"
                ),
            )
            for whose, other in WHOSE
        ),
        *(RemoveIndexConcurrently(model_name="job", name=f"{whose}_by_work") for whose, _ in WHOSE),
    ]
