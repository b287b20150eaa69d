"""Where runs were judged before, none has to be looked for among all of them."""

from datetime import timedelta

from django.db import migrations, models


def begin(apps, schema_editor):
    latest = apps.get_model("analysis", "JobEfficiency").objects.aggregate(at=models.Max("analysed_at"))["at"]
    if latest:
        marks = apps.get_model("analysis", "SweepMark").objects
        marks.get_or_create(name="changes", defaults={"at": latest - timedelta(days=1)})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0008_sweep_marks")]

    operations = [migrations.RunPython(begin, migrations.RunPython.noop)]
