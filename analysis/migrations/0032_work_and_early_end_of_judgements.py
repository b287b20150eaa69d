"""A judgement holds the work of its run and whether this ended early: sums read one table."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0031_slurm_comments")]

    operations = [
        migrations.AddField(
            "jobefficiency", "work_key", models.CharField(max_length=32, blank=True, default="", db_default="")
        ),
        migrations.AddField("jobefficiency", "ended_early", models.BooleanField(default=False, db_default=False)),
    ]
