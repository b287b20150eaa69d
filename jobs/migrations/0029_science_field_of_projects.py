"""The field of science of a project, where a directory states one."""

from django.db import migrations

import jobs.shown_text.models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0028_policy_tokens"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="science_field",
            field=jobs.shown_text.models.ShownText(blank=True, db_default="", default="", max_length=64),
        ),
    ]
