from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0002_tell_people_by_mail")]

    operations = [migrations.AddField("report", "packed", models.BinaryField(default=b"", db_default=b""))]
