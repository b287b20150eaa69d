from django.conf import settings
from django.db import migrations

from jobs.work_key import work_key

BATCH_ROWS = 2000
COLUMNS = ("cluster", "user__username", "project__name", "job_name", "script_key", "work_key")


def fill(apps, schema_editor):
    """Give every run the key of its work; each batch is kept by itself, so that a stop loses nothing."""
    jobs = apps.get_model("jobs", "Job").objects.using(schema_editor.connection.alias)
    secret, last = settings.WORK_KEY_SECRET.encode(), 0
    stored = jobs.select_related("user", "project").only(*COLUMNS).order_by("pk")
    while batch := list(stored.filter(pk__gt=last)[:BATCH_ROWS]):
        last = batch[-1].pk
        changed = []
        for job in batch:
            key = work_key(secret, job.cluster, job.user.username, job.project.name, job.job_name, job.script_key)
            if key != job.work_key:
                job.work_key = key
                changed.append(job)
        jobs.bulk_update(changed, ["work_key"], batch_size=500)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0010_work_keys_and_whole_requests")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
