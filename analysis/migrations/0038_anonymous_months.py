"""Anonymised months for other sites, each stored once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0037_runs_to_export")]

    operations = [
        migrations.CreateModel(
            name="AnonymousMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("figures", models.JSONField()),
                ("closed_at", models.DateTimeField()),
            ],
        ),
    ]
