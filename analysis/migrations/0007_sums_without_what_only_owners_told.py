"""Sums over people leave out runs that only their owner told of; 0010 makes the indexes that hold the column."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0006_the_whole_request_of_advice")]

    operations = [
        migrations.AddField("jobefficiency", "is_told_by_owner", models.BooleanField(db_default=False, default=False)),
    ]
