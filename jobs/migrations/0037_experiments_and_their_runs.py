"""Experiments and runs that training scripts log, their points and files; and the queue as it was read last."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0036_smaller_indexes_of_works"),
    ]

    operations = [
        migrations.CreateModel(
            name="QueueReading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64, unique=True)),
                ("read_at", models.DateTimeField(null=True)),
                ("tried_at", models.DateTimeField()),
                ("error", models.CharField(blank=True, max_length=200)),
            ],
        ),
        migrations.AlterField(
            model_name="apitoken",
            name="kind",
            field=models.CharField(
                choices=[
                    ("read", "Reads what you see here"),
                    ("send", "Sends measurements of your own runs"),
                    ("runs", "Logs your experiments and their runs"),
                ],
                db_default="read",
                default="read",
                max_length=8,
            ),
        ),
        migrations.CreateModel(
            name="Experiment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=256)),
                ("is_shared", models.BooleanField(default=False)),
                ("tags", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="experiments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="experiments",
                        to="jobs.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ExperimentRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run_id", models.CharField(max_length=32, unique=True)),
                ("name", models.CharField(blank=True, max_length=256)),
                ("seed", models.CharField(blank=True, max_length=64)),
                ("params", models.JSONField(default=dict)),
                ("tags", models.JSONField(default=dict)),
                (
                    "reported",
                    models.CharField(
                        choices=[
                            ("RUNNING", "RUNNING"),
                            ("SCHEDULED", "SCHEDULED"),
                            ("FINISHED", "FINISHED"),
                            ("FAILED", "FAILED"),
                            ("KILLED", "KILLED"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reported_at", models.DateTimeField()),
                ("reported_end_at", models.DateTimeField(null=True)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("RUNNING", "RUNNING"),
                            ("SCHEDULED", "SCHEDULED"),
                            ("FINISHED", "FINISHED"),
                            ("FAILED", "FAILED"),
                            ("KILLED", "KILLED"),
                            ("LOST", "LOST"),
                        ],
                        max_length=16,
                    ),
                ),
                ("is_by_slurm", models.BooleanField(default=False)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("heard_at", models.DateTimeField()),
                ("event_state", models.CharField(blank=True, max_length=64)),
                ("event_at", models.DateTimeField(null=True)),
                ("job_revision", models.PositiveIntegerField(null=True)),
                ("points_dropped", models.BigIntegerField(default=0)),
                ("points_thinned", models.BigIntegerField(default=0)),
                ("odd_times", models.BigIntegerField(default=0)),
                (
                    "experiment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="runs", to="jobs.experiment"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="children",
                        to="jobs.experimentrun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Artifact",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("path", models.CharField(max_length=1000)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("checkpoint", "Checkpoint"),
                            ("log", "Log"),
                            ("file", "File"),
                            ("kept", "Kept text"),
                            ("discarded", "Uploaded and not kept"),
                        ],
                        max_length=16,
                    ),
                ),
                ("step", models.BigIntegerField(null=True)),
                ("size_bytes", models.BigIntegerField(null=True)),
                ("text", models.BinaryField(null=True)),
                ("stated_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="artifacts",
                        to="jobs.experimentrun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="MetricSeries",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=250)),
                ("points", models.BinaryField()),
                ("count", models.BigIntegerField()),
                ("first_step", models.BigIntegerField()),
                ("first_ms", models.BigIntegerField()),
                ("last_step", models.BigIntegerField()),
                ("last_ms", models.BigIntegerField()),
                ("last_value", models.FloatField(null=True)),
                ("least_value", models.FloatField(null=True)),
                ("least_step", models.BigIntegerField(null=True)),
                ("most_value", models.FloatField(null=True)),
                ("most_step", models.BigIntegerField(null=True)),
                ("nan_count", models.BigIntegerField()),
                ("nan_since_step", models.BigIntegerField(null=True)),
                ("nan_since_ms", models.BigIntegerField(null=True)),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="series",
                        to="jobs.experimentrun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PointBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("points", models.BinaryField()),
                ("count", models.PositiveIntegerField()),
                ("received_at", models.DateTimeField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.experimentrun"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="QueuedJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("array_job_id", models.BigIntegerField(null=True)),
                ("array_task_id", models.BigIntegerField(null=True)),
                ("task_count", models.PositiveIntegerField(default=1)),
                ("job_name", models.CharField(blank=True, max_length=256)),
                ("partition", models.CharField(blank=True, max_length=64)),
                ("qos", models.CharField(blank=True, max_length=64)),
                ("state", models.CharField(choices=[("PENDING", "pending"), ("RUNNING", "running")], max_length=16)),
                ("reason", models.CharField(blank=True, max_length=64)),
                ("node_count", models.PositiveIntegerField(null=True)),
                ("gpus", models.PositiveIntegerField(null=True)),
                ("cores", models.PositiveIntegerField(null=True)),
                ("memory_gb", models.FloatField(null=True)),
                ("is_exclusive", models.BooleanField(null=True)),
                ("time_limit_s", models.FloatField(null=True)),
                ("submitted_at", models.DateTimeField(null=True)),
                ("eligible_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
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
        ),
        migrations.CreateModel(
            name="RunJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(blank=True, max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("stated_at", models.DateTimeField()),
                (
                    "linked_job",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="run_jobs", to="jobs.job"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="run_jobs", to="jobs.experimentrun"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="experiment",
            index=models.Index(fields=["owner", "-changed_at"], name="experiment_of_owner"),
        ),
        migrations.AddConstraint(
            model_name="experiment",
            constraint=models.UniqueConstraint(fields=("owner", "name"), name="experiment_once"),
        ),
        migrations.AddConstraint(
            model_name="experiment",
            constraint=models.CheckConstraint(
                condition=models.Q(("is_shared", False), ("project__isnull", False), _connector="OR"),
                name="shared_experiment_has_project",
            ),
        ),
        migrations.AddIndex(
            model_name="experimentrun",
            index=models.Index(fields=["experiment", "-started_at", "-id"], name="run_of_experiment"),
        ),
        migrations.AddIndex(
            model_name="experimentrun",
            index=models.Index(fields=["owner", "-started_at", "-id"], name="run_of_owner"),
        ),
        migrations.AddIndex(
            model_name="experimentrun",
            index=models.Index(
                condition=models.Q(("status__in", ["LOST", "RUNNING", "SCHEDULED"])),
                fields=["heard_at"],
                name="run_is_open",
            ),
        ),
        migrations.AddIndex(
            model_name="experimentrun",
            index=models.Index(fields=["started_at"], name="run_by_start"),
        ),
        migrations.AddConstraint(
            model_name="artifact",
            constraint=models.UniqueConstraint(fields=("run", "path"), name="artifact_once"),
        ),
        migrations.AddConstraint(
            model_name="metricseries",
            constraint=models.UniqueConstraint(fields=("run", "name"), name="series_once"),
        ),
        migrations.AddConstraint(
            model_name="queuedjob",
            constraint=models.UniqueConstraint(fields=("cluster", "job_id"), name="queued_job_once"),
        ),
        migrations.AddIndex(
            model_name="runjob",
            index=models.Index(fields=["job_id"], name="run_by_job_number"),
        ),
        migrations.AddConstraint(
            model_name="runjob",
            constraint=models.UniqueConstraint(fields=("run", "cluster", "job_id", "linked_job"), name="run_job_once"),
        ),
    ]
