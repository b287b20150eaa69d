"""Which kind of token a program requests with its code."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0038_rows_left_out_and_asking_accounting")]

    operations = [
        migrations.AddField("devicesignin", "kind", models.CharField(db_default="read", default="read", max_length=8)),
    ]
