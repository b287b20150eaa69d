from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0043_early_words")]

    operations = [
        migrations.AddField(model_name="runningrun", name="left_at", field=models.DateTimeField(null=True)),
    ]
