"""The figures of the whole site, month by month."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0017_indexes_of_classes_and_first_findings")]

    operations = [
        migrations.CreateModel(
            name="SiteMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("figures", models.JSONField()),
                ("closed_at", models.DateTimeField()),
            ],
        ),
    ]
