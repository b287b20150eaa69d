from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0010_indexes_of_sums_without_what_only_owners_told")]

    operations = [migrations.AlterField("findingrow", "code", models.CharField(max_length=64))]
