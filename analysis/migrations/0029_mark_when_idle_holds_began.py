"""When the first idle GPUs were stored: months of the site with older judgements get no sums of them."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def mark_beginning(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """A new site needs none: it has no older judgements."""
    if apps.get_model("analysis", "JobEfficiency").objects.exists():
        marks = apps.get_model("analysis", "SweepMark").objects
        marks.get_or_create(name="idle holds", defaults={"at": timezone.now()})


def forget_beginning(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("analysis", "SweepMark").objects.filter(name="idle holds").delete()


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("analysis", "0028_credited_compared_runs")]

    operations = [migrations.RunPython(mark_beginning, forget_beginning)]
