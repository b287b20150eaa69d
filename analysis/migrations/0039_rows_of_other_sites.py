"""Anonymised rows that other sites shared, by site, month and format."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0038_anonymous_months")]

    operations = [
        migrations.CreateModel(
            name="ElsewhereMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("site", models.CharField(max_length=64)),
                ("first_day", models.DateField()),
                (
                    "form",
                    models.CharField(
                        "format",
                        max_length=16,
                        choices=[("institutional", "Anonymised rows"), ("learning", "Learning documents")],
                    ),
                ),
                ("groups", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("imported_at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["site", "first_day", "form"], name="elsewhere_once_a_month")
                ]
            },
        ),
    ]
