from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0043_webhooks_in_the_audit_log"),
    ]

    operations = [
        migrations.AddField(
            model_name="queuedjob",
            name="is_suspended",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
