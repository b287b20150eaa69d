"""The recent use of nodes whose run goes on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0007_no_rows_of_gpus")]

    operations = [
        migrations.CreateModel(
            name="RunningNode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("job_id", models.BigIntegerField()),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("node", models.CharField(max_length=64)),
                ("sequence", models.BigIntegerField()),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("received_at", models.DateTimeField()),
                ("recent_s", models.FloatField(null=True)),
                ("figures", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["received_at"], name="running_node_by_arrival")],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "job_id", "attempt", "node"), name="running_node_once")
                ],
            },
        ),
    ]
