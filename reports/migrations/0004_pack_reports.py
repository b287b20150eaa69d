from django.db import migrations

from reports.packed_json import pack_json

BATCH_ROWS = 500


def fill(apps, schema_editor):
    """Pack what each report says; each batch is kept by itself, so that a stop loses nothing."""
    reports = apps.get_model("reports", "Report").objects.using(schema_editor.connection.alias)
    last = 0
    while batch := list(reports.filter(pk__gt=last).order_by("pk").only("pk", "content")[:BATCH_ROWS]):
        last = batch[-1].pk
        for row in batch:
            row.packed = pack_json(row.content)
        reports.bulk_update(batch, ["packed"])


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("reports", "0003_room_for_packed_reports")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop, elidable=True)]
