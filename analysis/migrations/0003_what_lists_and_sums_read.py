import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def joined(model):
    """A column that repeats one of the job's: the job holds the constraint."""
    return models.ForeignKey(
        null=True,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to=model,
        db_index=False,
        db_constraint=False,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0002_was_this_right"),
        ("jobs", "0006_job_list_indexes"),
    ]

    operations = [
        migrations.AddField("jobefficiency", "user", joined(settings.AUTH_USER_MODEL)),
        migrations.AddField("jobefficiency", "project", joined("jobs.project")),
        migrations.AddField("jobefficiency", "started_at", models.DateTimeField(null=True)),
        migrations.AddField("jobefficiency", "ended_at", models.DateTimeField(null=True)),
        migrations.AddField("jobefficiency", "saved_gpu_hours", models.FloatField(null=True)),
        migrations.AddField(
            "jobefficiency", "finding_codes", models.CharField(blank=True, default="", max_length=1024)
        ),
    ]
