"""Runs that left GPUs idle, and what others waited for meanwhile; runs that were judged before have no such row."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0025_withhold_figures_of_few_jobs"),
        ("jobs", "0030_index_of_waits"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="IdleHold",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="idle_hold",
                        serialize=False,
                        to="jobs.job",
                    ),
                ),
                ("cluster", models.CharField(max_length=64)),
                ("partition", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("idle", models.JSONField()),
                ("idle_gpus", models.PositiveIntegerField()),
                ("idle_gpu_hours", models.FloatField(null=True)),
                ("check_at", models.DateTimeField(null=True)),
                ("checked_at", models.DateTimeField(null=True)),
                ("wanted_gpu_hours", models.FloatField(null=True)),
                ("could_start", models.PositiveIntegerField(null=True)),
                ("is_shown", models.BooleanField(default=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("check_at__isnull", False)), fields=["check_at"], name="holds_to_check"
                    ),
                    models.Index(fields=["cluster", "partition", "ended_at"], name="holds_by_partition"),
                    models.Index(fields=["ended_at"], name="holds_by_end"),
                ],
            },
        ),
    ]
