"""A judgement holds the throughput that a script logged: how a work scales reads rows, and no points."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0034_indexes_with_works")]

    operations = [
        migrations.AddField(
            "jobefficiency", "throughput_unit", models.CharField(max_length=16, blank=True, default="", db_default="")
        ),
        migrations.AddField("jobefficiency", "throughput_per_s", models.FloatField(null=True)),
    ]
