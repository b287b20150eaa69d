from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0011_fill_work_keys")]

    operations = [
        migrations.AddIndex("job", models.Index(fields=["work_key", "ended_at", "id"], name="job_by_work")),
    ]
