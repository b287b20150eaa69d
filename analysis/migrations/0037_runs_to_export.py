"""What waits to be exported, and what is written together."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0036_predictions"),
        ("jobs", "0039_kinds_of_tokens_of_programs"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExportBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("opened_at", models.DateTimeField()),
                ("fault", models.CharField(blank=True, default="", max_length=32)),
                ("failed_since", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ExportDue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("noted_at", models.DateTimeField()),
                (
                    "batch",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="due",
                        to="analysis.exportbatch",
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="jobs.job",
                    ),
                ),
            ],
        ),
    ]
