"""Peak host memory without files' cached pages, beside the total; NULL is "not measured"."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="cpusummary",
            name="peak_memory_anon_gb",
            field=models.FloatField(null=True),
        ),
    ]
