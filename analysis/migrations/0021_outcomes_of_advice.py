"""What became of advice, what runs used of their hosts, and works that follow one another."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0020_policy_export"),
        ("jobs", "0024_indexes_of_gpus_and_works"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AdviceMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("figures", models.JSONField()),
                ("closed_at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="jobefficiency",
            name="busy_cores",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="jobefficiency",
            name="host_peak_gb",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="jobefficiency",
            name="io_wait_fraction",
            field=models.FloatField(null=True),
        ),
        migrations.CreateModel(
            name="AdviceDue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("work_key", models.CharField(max_length=32)),
                ("noted_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WorkPipeline",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("work_keys", models.JSONField()),
                ("latest", models.JSONField()),
                ("passes", models.PositiveIntegerField()),
                ("runs", models.PositiveIntegerField()),
                ("gpu_hours", models.FloatField()),
                ("wasted_gpu_hours", models.FloatField()),
                ("latest_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="jobs.project",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AdviceDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("kind", models.CharField(max_length=32)),
                ("given", models.PositiveIntegerField()),
                ("answered", models.PositiveIntegerField()),
                ("followed", models.PositiveIntegerField()),
                ("partly", models.PositiveIntegerField()),
                ("runs", models.PositiveIntegerField()),
                ("failed_runs", models.PositiveIntegerField()),
                ("compared_runs", models.PositiveIntegerField()),
                ("claimed_gpu_hours", models.FloatField(null=True)),
                ("realised_gpu_hours", models.FloatField(null=True)),
                ("first_at", models.DateTimeField(null=True)),
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
                "indexes": [models.Index(fields=["project", "day"], name="advice_days_by_project")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "day", "project", "kind"), name="advice_day_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AdviceOutcome",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=32)),
                ("basis", models.CharField(max_length=32)),
                ("work_key", models.CharField(max_length=32)),
                ("given_at", models.DateTimeField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("open", "OPEN"),
                            ("repeated", "REPEATED"),
                            ("not_followed", "NOT_FOLLOWED"),
                            ("partly", "PARTLY"),
                            ("followed", "FOLLOWED"),
                        ],
                        max_length=16,
                    ),
                ),
                ("dimensions", models.CharField(blank=True, max_length=64)),
                ("later_runs", models.PositiveIntegerField(default=0)),
                ("following_runs", models.PositiveIntegerField(default=0)),
                ("failed_runs", models.PositiveIntegerField(default=0)),
                ("other_failed_runs", models.PositiveIntegerField(default=0)),
                ("compared_runs", models.PositiveIntegerField(default=0)),
                ("claimed_gpu_hours", models.FloatField(null=True)),
                ("realised_gpu_hours", models.FloatField(null=True)),
                ("first_job", models.BigIntegerField(null=True)),
                ("first_at", models.DateTimeField(null=True)),
                ("util_percent_after", models.FloatField(null=True)),
                ("gpu_hours_after", models.FloatField(null=True)),
                ("run_s_after", models.FloatField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="jobs.job"
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
                    models.Index(fields=["user", "work_key", "given_at"], name="outcomes_by_work"),
                    models.Index(fields=["user", "given_at"], name="outcomes_by_user"),
                    models.Index(fields=["given_at"], name="outcomes_by_time"),
                    models.Index(
                        condition=models.Q(("basis", "cpu_work"), ("status", "open")),
                        fields=["user", "work_key"],
                        name="open_moves_to_cpus",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("job", "kind"), name="outcome_once")],
            },
        ),
    ]
