"""The index of who waited in a partition at some time."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0029_science_field_of_projects")]

    operations = [
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                models.F("cluster"),
                models.F("partition"),
                Coalesce("started_at", "ended_at"),
                models.F("eligible_at"),
                name="waits_by_partition",
            ),
        ),
    ]
