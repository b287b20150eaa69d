"""Raw samples of single runs, kept for some days."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("metrics", "0002_peak_memory_anon"),
    ]

    operations = [
        migrations.CreateModel(
            name="RawWindow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("node", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField()),
                ("interval_s", models.FloatField(null=True)),
                ("collector_version", models.CharField(blank=True, max_length=32)),
                ("gpu_ids", models.JSONField()),
                ("at_s", models.BinaryField()),
                ("util", models.BinaryField()),
                ("mem_gb", models.BinaryField()),
                ("size_bytes", models.PositiveIntegerField()),
                ("received_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["received_at", "size_bytes"], name="raw_window_by_arrival")],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "job_id", "attempt", "node"), name="raw_window_once")
                ],
            },
        ),
    ]
