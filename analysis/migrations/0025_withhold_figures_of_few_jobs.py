"""Withhold figures of single jobs in closed months of the policy export: they were shown of users with few jobs."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

JOBS_MIN = 5
OF_FEW_JOBS = (
    *("efficiency_score", "unused_gpu_hours", "advice_gpu_hours", "advice_fraction"),
    *("classes_by_gpu_hours", "classes_by_jobs", "coverage_fraction", "followed_runs", "followed_gpu_hours"),
)
ROWS_TOGETHER = 500


def withhold(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Some rows at a time; what it did already it does again to the same end."""
    rows = apps.get_model("analysis", "PolicyRow").objects
    keys = list(rows.filter(withheld="").values_list("pk", flat=True))
    for first in range(0, len(keys), ROWS_TOGETHER):
        together = list(rows.filter(pk__in=keys[first : first + ROWS_TOGETHER]))
        for row in together:
            is_few = row.kind == "user" and row.figures["jobs"] < JOBS_MIN
            if is_few:
                row.figures |= dict.fromkeys(OF_FEW_JOBS) | {"withheld_columns": list(OF_FEW_JOBS)}
            hidden = row.figures["withheld_columns"]
            row.figures["withheld_columns_reason"] = ("few_jobs" if is_few else "group_rule") if hidden else None
        rows.bulk_update(together, ["figures"])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("analysis", "0024_months_of_answers")]

    operations = [migrations.RunPython(withhold, migrations.RunPython.noop)]
