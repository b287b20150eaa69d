"""Messages that are about no report, and the offer of help that staff edit."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0005_packed_reports_and_stored_pdfs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="HelpLetter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(unique=True)),
                ("subject", models.CharField(max_length=150)),
                ("text", models.TextField(max_length=4000)),
                ("saved_at", models.DateTimeField()),
                (
                    "editor",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("offer", "Offer of help"), ("summary", "Summary of the support queue")], max_length=16
                    ),
                ),
                ("subject", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("once_key", models.CharField(max_length=64, null=True)),
                (
                    "delivery",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="notice", to="reports.delivery"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("once_key",), name="notice_once")],
            },
        ),
    ]
