"""Numbers that only grow, and the processes that are at work."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0015_work_failures"),
    ]

    operations = [
        migrations.CreateModel(
            name="Process",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=128)),
                (
                    "kind",
                    models.CharField(
                        choices=[("worker", "Worker"), ("portal", "Portal"), ("ingest", "Ingest")], max_length=16
                    ),
                ),
                ("version", models.CharField(max_length=32)),
                ("seen_at", models.DateTimeField()),
                ("waiting_records", models.PositiveIntegerField(null=True)),
            ],
            options={
                "verbose_name_plural": "processes",
                "indexes": [models.Index(fields=["kind", "seen_at"], name="process_by_time")],
                "constraints": [models.UniqueConstraint(fields=("name", "kind"), name="process_once")],
            },
        ),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("labels", models.TextField()),
                ("value", models.FloatField()),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "tallies",
                "constraints": [models.UniqueConstraint(fields=("name", "labels"), name="tally_once")],
            },
        ),
    ]
