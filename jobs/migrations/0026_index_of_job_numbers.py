"""A search for the number of a job finds it on every cluster."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0025_index_of_words_in_job_names")]

    operations = [AddIndexConcurrently("job", models.Index(fields=["job_id"], name="job_by_number"))]
