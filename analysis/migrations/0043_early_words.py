import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0042_ranges_as_wide_as_predictions_were_off"),
        ("jobs", "0042_tokens_that_read_the_feed"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="EarlyWord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("job_name", models.CharField(blank=True, max_length=256)),
                ("code", models.CharField(max_length=32)),
                ("confidence", models.FloatField()),
                ("is_fact", models.BooleanField()),
                ("evidence", models.JSONField()),
                ("is_interactive", models.BooleanField()),
                ("gpus", models.PositiveIntegerField(null=True)),
                ("started_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField(null=True)),
                ("gpu_hours_per_hour", models.FloatField(null=True)),
                ("found_at", models.DateTimeField()),
                ("held_at", models.DateTimeField()),
                ("over_at", models.DateTimeField(null=True)),
                ("rules_version", models.CharField(max_length=32)),
                (
                    "project",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.project"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="early_words",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["found_at"], name="early_word_by_time"),
                    models.Index(fields=["user", "-found_at"], name="early_word_by_user"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "job_id", "attempt", "code"), name="early_word_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="RunningRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                ("new_revision", models.BigIntegerField()),
                ("revision", models.BigIntegerField(default=0)),
                ("rules_version", models.CharField(blank=True, max_length=32)),
                ("looked_at", models.DateTimeField(null=True)),
                ("gpu_hours_per_hour", models.FloatField(null=True)),
                ("figures", models.JSONField(default=dict)),
                (
                    "project",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.project"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "job_id", "attempt"), name="running_run_once")
                ],
            },
        ),
    ]
