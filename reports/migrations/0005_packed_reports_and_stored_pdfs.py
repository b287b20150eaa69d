import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reports", "0004_pack_reports")]

    operations = [
        migrations.RemoveField("report", "content"),
        migrations.RenameField("report", "packed", "content"),
        # The column keeps its default: to drop it would need a lock, and whoever writes a report writes its content.
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.AlterField("report", "content", models.BinaryField())]
        ),
        # PDFs are made again when somebody asks.
        migrations.RemoveField("report", "pdf"),
        migrations.CreateModel(
            name="StoredPdf",
            fields=[
                (
                    "report",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="pdf",
                        serialize=False,
                        to="reports.report",
                    ),
                ),
                ("content", models.BinaryField()),
                ("asked_at", models.DateTimeField()),
            ],
            options={"indexes": [models.Index(fields=["asked_at"], name="pdf_by_asking")]},
        ),
    ]
