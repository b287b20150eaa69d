"""The runs that miss summaries, without a look at those that do not."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0012_missing_nodes")]

    operations = [
        AddIndexConcurrently(
            "jobefficiency",
            models.Index(
                fields=["ended_at", "metrics_revision", "is_told_by_owner"],
                name="efficiency_by_missing_nodes",
                condition=models.Q(missing_nodes__gt=0),
            ),
        ),
    ]
