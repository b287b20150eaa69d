"""What became of the advice on every work is to be determined; until the sweep has done it, pages show less of it."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone

BATCH_ROWS = 5000


def note_works(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    judged, due = apps.get_model("analysis", "JobEfficiency"), apps.get_model("analysis", "AdviceDue")
    works = judged.objects.exclude(job__work_key="").values_list("user_id", "job__work_key").order_by().distinct()
    rows = [due(user_id=user, work_key=key, noted_at=timezone.now()) for user, key in works]
    due.objects.bulk_create(rows, batch_size=BATCH_ROWS)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0021_outcomes_of_advice")]

    operations = [migrations.RunPython(note_works, migrations.RunPython.noop)]
