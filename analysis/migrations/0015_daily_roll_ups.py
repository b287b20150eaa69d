"""Daily roll-ups of persons, projects and works."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0014_use_course"),
        ("jobs", "0023_saved_filters"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PersonDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("jobs", models.PositiveIntegerField()),
                ("gpu_hours", models.FloatField()),
                ("wasted_gpu_hours", models.FloatField()),
                ("saved_gpu_hours", models.FloatField()),
                ("measured_gpu_hours", models.FloatField()),
                ("used_gpu_hours", models.FloatField()),
                ("sums", models.BinaryField()),
                ("is_told_by_owner", models.BooleanField()),
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
                    models.Index(
                        fields=[
                            "project",
                            "day",
                            "is_told_by_owner",
                            "user",
                            "jobs",
                            "gpu_hours",
                            "wasted_gpu_hours",
                            "saved_gpu_hours",
                            "measured_gpu_hours",
                            "used_gpu_hours",
                        ],
                        name="sums_of_members",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "day", "project", "is_told_by_owner"), name="person_day_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ProjectDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("jobs", models.PositiveIntegerField()),
                ("gpu_hours", models.FloatField()),
                ("wasted_gpu_hours", models.FloatField()),
                ("saved_gpu_hours", models.FloatField()),
                ("measured_gpu_hours", models.FloatField()),
                ("used_gpu_hours", models.FloatField()),
                ("sums", models.BinaryField()),
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
            ],
            options={
                "indexes": [models.Index(fields=["day"], name="project_days_by_day")],
                "constraints": [models.UniqueConstraint(fields=("project", "day"), name="project_day_once")],
            },
        ),
        migrations.CreateModel(
            name="RollUpDue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
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
                    models.Index(fields=["user", "day"], name="due_days_by_user"),
                    models.Index(fields=["project", "day", "user"], name="due_days_by_project"),
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("jobs", models.PositiveIntegerField()),
                ("gpu_hours", models.FloatField()),
                ("wasted_gpu_hours", models.FloatField()),
                ("saved_gpu_hours", models.FloatField()),
                ("measured_gpu_hours", models.FloatField()),
                ("used_gpu_hours", models.FloatField()),
                ("sums", models.BinaryField()),
                ("work_key", models.CharField(blank=True, max_length=64)),
                ("is_told_by_owner", models.BooleanField()),
                ("latest_job", models.BigIntegerField()),
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
                    models.Index(
                        fields=[
                            "project",
                            "day",
                            "is_told_by_owner",
                            "user",
                            "work_key",
                            "latest_job",
                            "jobs",
                            "gpu_hours",
                            "wasted_gpu_hours",
                            "saved_gpu_hours",
                            "measured_gpu_hours",
                            "used_gpu_hours",
                        ],
                        name="sums_of_works",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "work_key", "day", "project", "is_told_by_owner"), name="work_day_once"
                    )
                ],
            },
        ),
    ]
