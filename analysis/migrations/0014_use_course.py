"""A small picture of each run's use; null until the run is judged again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0013_index_of_missing_nodes")]

    operations = [migrations.AddField("jobefficiency", "use_course", models.BinaryField(null=True))]
