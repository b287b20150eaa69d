"""Advisory flags, and the cases of the support queue."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0018_months_of_the_site"),
        ("jobs", "0024_indexes_of_gpus_and_works"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Flag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("user", "Person"), ("project", "Project"), ("work", "Work")], max_length=8
                    ),
                ),
                ("work_key", models.CharField(blank=True, max_length=64)),
                ("raised_at", models.DateTimeField()),
                ("visible_to_staff_at", models.DateTimeField()),
                ("cleared_at", models.DateTimeField(null=True)),
                (
                    "cleared_by",
                    models.CharField(
                        blank=True, choices=[("low_fraction", "low_fraction"), ("no_jobs", "no_jobs")], max_length=16
                    ),
                ),
                ("rules_version", models.CharField(max_length=32)),
                ("evidence", models.JSONField()),
                ("latest", models.JSONField()),
                ("unused_gpu_hours", models.FloatField()),
                ("saved_gpu_hours", models.FloatField()),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SupportCase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("claimed", "Claimed"),
                            ("waiting", "Waiting for the user"),
                            ("resolved", "Resolved"),
                            ("dismissed", "Dismissed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1)),
                ("changed_at", models.DateTimeField()),
                (
                    "flag",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="case", to="analysis.flag"
                    ),
                ),
                (
                    "holder",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ShareRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_at", models.DateTimeField()),
                (
                    "answer",
                    models.CharField(
                        blank=True,
                        choices=[("shared", "Shared"), ("declined", "Declined"), ("withdrawn", "Withdrawn")],
                        max_length=16,
                    ),
                ),
                ("answered_at", models.DateTimeField(null=True)),
                ("jobs", models.PositiveIntegerField(default=0)),
                (
                    "asked_by",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="share_requests",
                        to="analysis.supportcase",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CaseEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("state", "State changed"),
                            ("note", "Note"),
                            ("offer", "Help offered by mail"),
                            ("request", "Sharing requested"),
                            ("answer", "Answer of the owner"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("claimed", "Claimed"),
                            ("waiting", "Waiting for the user"),
                            ("resolved", "Resolved"),
                            ("dismissed", "Dismissed"),
                        ],
                        max_length=16,
                    ),
                ),
                ("text", models.CharField(blank=True, max_length=2000)),
                ("at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="events", to="analysis.supportcase"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(fields=["user", "kind", "-raised_at"], name="flags_by_user"),
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(fields=["project", "kind", "-raised_at"], name="flags_by_project"),
        ),
        migrations.AddIndex(
            model_name="flag",
            index=models.Index(fields=["cleared_at"], name="flags_by_clearing"),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.UniqueConstraint(
                condition=models.Q(("cleared_at__isnull", True), ("kind", "user")),
                fields=("user",),
                name="open_flag_once_of_user",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.UniqueConstraint(
                condition=models.Q(("cleared_at__isnull", True), ("kind", "project")),
                fields=("project",),
                name="open_flag_once_of_project",
            ),
        ),
        migrations.AddConstraint(
            model_name="flag",
            constraint=models.UniqueConstraint(
                condition=models.Q(("cleared_at__isnull", True), ("kind", "work")),
                fields=("user", "project", "work_key"),
                name="open_flag_once_of_work",
            ),
        ),
        migrations.AddIndex(
            model_name="supportcase",
            index=models.Index(fields=["state"], name="cases_by_state"),
        ),
        migrations.AddConstraint(
            model_name="sharerequest",
            constraint=models.UniqueConstraint(
                condition=models.Q(("answered_at__isnull", True)), fields=("case",), name="open_share_request_once"
            ),
        ),
        migrations.AddIndex(
            model_name="caseevent",
            index=models.Index(fields=["case", "at", "id"], name="events_by_case"),
        ),
    ]
