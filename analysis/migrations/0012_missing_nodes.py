"""How many nodes of a run had sent nothing when it was judged, and the nodes that have gone silent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0011_findings_without_an_index_of_codes")]

    operations = [
        migrations.AddField("jobefficiency", "missing_nodes", models.IntegerField(null=True)),
        migrations.CreateModel(
            name="SilentNode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster", models.CharField(max_length=64)),
                ("node", models.CharField(max_length=64)),
                ("since", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                ("runs", models.PositiveIntegerField(default=1)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=["cluster", "node"], name="silent_node_once")],
            },
        ),
    ]
