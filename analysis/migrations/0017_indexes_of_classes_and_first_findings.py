"""The orders by class and by the first finding, of one owner and of one project."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from analysis.models import FirstCode


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("analysis", "0016_roll_up_every_day")]

    operations = [
        *(
            AddIndexConcurrently(
                "jobefficiency",
                models.Index(fields=[whose, "efficiency_class", "job", "uncounted_reason"], name=f"{whose}_by_class"),
            )
            for whose in ("user", "project")
        ),
        *(
            AddIndexConcurrently(
                "jobefficiency", models.Index(whose, FirstCode("finding_codes"), "job", name=f"{whose}_by_finding")
            )
            for whose in ("user", "project")
        ),
    ]
