"""How far each sweep has come."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0007_sums_without_what_only_owners_told"),
    ]

    operations = [
        migrations.CreateModel(
            name="SweepMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, unique=True)),
                ("at", models.DateTimeField(null=True)),
                ("position", models.BigIntegerField(null=True)),
            ],
        ),
    ]
