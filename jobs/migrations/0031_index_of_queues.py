"""The index of who waited, by queue: with one by partition, lists narrowed to a partition read all of its jobs."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce, Concat


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0030_index_of_waits")]

    operations = [
        AddIndexConcurrently(
            model_name="job",
            index=models.Index(
                Concat("cluster", models.Value("/"), "partition"),
                Coalesce("started_at", "ended_at"),
                models.F("eligible_at"),
                name="waits_by_queue",
            ),
        ),
        RemoveIndexConcurrently(model_name="job", name="waits_by_partition"),
    ]
