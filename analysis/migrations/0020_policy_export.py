"""The closed months of the policy export, and their rows."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KINDS = [("project", "project"), ("user", "user")]
REASONS = ("few_people", "one_person", "people_together", "other_group")


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0019_flags_and_support_cases"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="PolicyMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("closed_at", models.DateTimeField()),
                ("has_rows", models.BooleanField(default=True)),
            ],
        ),
        migrations.CreateModel(
            name="PolicyRow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=KINDS, max_length=8)),
                ("key", models.CharField(max_length=64)),
                (
                    "withheld",
                    models.CharField(blank=True, choices=[(why, why) for why in REASONS], max_length=16),
                ),
                ("figures", models.JSONField(default=dict)),
                (
                    "month",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="analysis.policymonth",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"constraints": [models.UniqueConstraint(fields=("month", "kind", "key"), name="policy_row_once")]},
        ),
    ]
