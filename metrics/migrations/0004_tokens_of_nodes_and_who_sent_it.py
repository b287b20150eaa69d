"""The node a token speaks for, and the account whose own run sent a summary."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0003_raw_windows")]

    operations = [
        migrations.AddField(
            "collectortoken", "node", models.CharField(blank=True, db_default="", default="", max_length=64)
        ),
        migrations.AddField("nodesummary", "revision_lead", models.BigIntegerField(db_default=0, default=0)),
        migrations.AddField(
            "nodesummary", "sent_by", models.CharField(blank=True, db_default="", default="", max_length=150)
        ),
    ]
