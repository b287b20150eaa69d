"""When nothing but the queue kept a run from starting; NULL where nobody said."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0012_index_of_work")]

    operations = [
        migrations.AddField(model_name="job", name="eligible_at", field=models.DateTimeField(null=True)),
    ]
