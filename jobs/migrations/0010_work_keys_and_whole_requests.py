from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0009_record_of_imports")]

    operations = [
        migrations.AddField("job", "work_key", models.CharField(blank=True, db_default="", default="", max_length=32)),
        migrations.AddField("job", "is_exclusive", models.BooleanField(null=True)),
        migrations.AddField("job", "nodes_requested", models.PositiveIntegerField(null=True)),
        migrations.AddField("job", "ntasks_per_node", models.PositiveIntegerField(null=True)),
    ]
