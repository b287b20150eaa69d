"""A kind of token that reads the feed of a person's reports; nothing changes in the database."""

from django.db import migrations, models

KINDS = [
    ("read", "Reads what you see here"),
    ("send", "Sends measurements of your own runs"),
    ("runs", "Logs your experiments and their runs"),
    ("feed", "Reads the feed of your reports"),
]


class Migration(migrations.Migration):
    dependencies = [("jobs", "0041_rows_between_sites_in_the_audit_log")]

    operations = [
        migrations.AlterField(
            "apitoken", "kind", models.CharField(choices=KINDS, db_default="read", default="read", max_length=8)
        )
    ]
