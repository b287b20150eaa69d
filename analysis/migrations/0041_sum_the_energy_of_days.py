"""Days with runs whose energy is known are to be rolled up again, with it."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models.functions import TruncDate
from django.utils import timezone

BATCH_ROWS = 5000


def note_days(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    judged, due = apps.get_model("analysis", "JobEfficiency"), apps.get_model("analysis", "RollUpDue")
    ended = TruncDate("ended_at", tzinfo=timezone.get_default_timezone())
    runs = judged.objects.filter(ended_at__isnull=False, energy_j__isnull=False)
    days = runs.annotate(day=ended).values_list("user_id", "project_id", "day")
    rows = [due(user_id=user, project_id=project, day=day) for user, project, day in days.order_by().distinct()]
    due.objects.bulk_create(rows, batch_size=BATCH_ROWS)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0040_months_of_practices")]

    operations = [migrations.RunPython(note_days, migrations.RunPython.noop)]
