"""How many rows of a queue could not be read, and when accounting is asked for the job of a run again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0037_experiments_and_their_runs")]

    operations = [
        migrations.AddField("queuereading", "left_out", models.PositiveIntegerField(db_default=0, default=0)),
        migrations.AddField("runjob", "ask_at", models.DateTimeField(null=True)),
        migrations.AddField("runjob", "asked_count", models.PositiveSmallIntegerField(db_default=0, default=0)),
    ]
