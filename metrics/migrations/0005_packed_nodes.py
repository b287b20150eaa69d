"""One row a node: its GPUs and its host go into columns of bytes. Columns with a default of the database cost nothing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0004_tokens_of_nodes_and_who_sent_it")]

    operations = [
        migrations.AddField("nodesummary", "host_peak_gb", models.FloatField(null=True)),
        migrations.AddField("nodesummary", "figures", models.BinaryField(default=bytes, db_default=b"")),
        migrations.AddField("nodesummary", "series", models.BinaryField(default=bytes, db_default=b"")),
    ]
