"""Tokens that send own runs, and which runs only their owner told of."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0013_when_a_run_could_start")]

    operations = [
        migrations.AddField(
            "apitoken",
            "kind",
            models.CharField(
                choices=[("read", "Reads what you see here"), ("send", "Sends measurements of your own runs")],
                db_default="read",
                default="read",
                max_length=8,
            ),
        ),
        migrations.AddField("job", "is_told_by_owner", models.BooleanField(db_default=False, default=False)),
    ]
