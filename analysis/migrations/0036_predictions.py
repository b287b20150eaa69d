"""Predictions with the runs that answered them, how methods keep their promise, and months of the site."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0035_measured_throughput"),
        ("jobs", "0039_kinds_of_tokens_of_programs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PredictionMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("figures", models.JSONField()),
                ("closed_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="MethodRecord",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("method", models.CharField(max_length=16)),
                ("quantity", models.CharField(max_length=16)),
                ("answered", models.PositiveIntegerField()),
                ("ranged", models.PositiveIntegerField()),
                ("inside", models.PositiveIntegerField()),
                ("promised_fraction", models.FloatField(null=True)),
                ("misses_promise", models.BooleanField()),
                ("misses_since", models.DateTimeField(null=True)),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("method", "quantity"), name="method_record_once")],
            },
        ),
        migrations.CreateModel(
            name="Prediction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("work_key", models.CharField(max_length=32)),
                (
                    "source",
                    models.CharField(
                        choices=[("recommendation", "RECOMMENDATION"), ("check", "CHECK"), ("wait", "WAIT")],
                        max_length=16,
                    ),
                ),
                (
                    "quantity",
                    models.CharField(
                        choices=[
                            ("run_s", "RUN_S"),
                            ("gpus", "GPUS"),
                            ("memory_gb", "MEMORY_GB"),
                            ("gpu_hours", "GPU_HOURS"),
                            ("wait_s", "WAIT_S"),
                        ],
                        max_length=16,
                    ),
                ),
                ("partition", models.CharField(max_length=64)),
                ("nodes", models.PositiveIntegerField()),
                ("gpus", models.PositiveIntegerField()),
                ("limit_s", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("typical", models.FloatField()),
                ("high", models.FloatField(null=True)),
                ("promised_fraction", models.FloatField(null=True)),
                (
                    "method",
                    models.CharField(
                        choices=[
                            ("own_quantiles", "OWN_QUANTILES"),
                            ("regression", "REGRESSION"),
                            ("advice", "ADVICE"),
                            ("queue_waits", "QUEUE_WAITS"),
                        ],
                        max_length=16,
                    ),
                ),
                ("method_version", models.PositiveSmallIntegerField()),
                ("runs", models.PositiveIntegerField()),
                ("is_shown", models.BooleanField()),
                ("fingerprint", models.CharField(max_length=32)),
                ("given_at", models.DateTimeField()),
                (
                    "answer",
                    models.CharField(
                        choices=[("open", "OPEN"), ("answered", "ANSWERED"), ("exceeded", "EXCEEDED")],
                        default="open",
                        max_length=16,
                    ),
                ),
                ("actual", models.FloatField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="predictions",
                        to="jobs.job",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="jobs.project",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["user", "work_key", "given_at"], name="predictions_by_work"),
                    models.Index(fields=["given_at"], name="predictions_by_time"),
                    models.Index(
                        condition=models.Q(("answered_at__isnull", False)),
                        fields=["answered_at"],
                        name="answered_predictions",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("job__isnull", True)),
                        fields=("user", "work_key", "fingerprint"),
                        name="open_prediction_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("job__isnull", False)),
                        fields=("job", "source", "quantity", "method"),
                        name="prediction_answered_once",
                    ),
                ],
            },
        ),
    ]
