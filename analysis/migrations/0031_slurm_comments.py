"""Comments for Slurm's accounting, of runs whose owners opted in."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("analysis", "0030_ranges_of_wait_estimates"),
        ("jobs", "0035_slurm_comments_and_their_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="SlurmComment",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="slurm_comment",
                        serialize=False,
                        to="jobs.job",
                    ),
                ),
                ("cluster", models.CharField(max_length=64)),
                ("text", models.CharField(max_length=64)),
                ("position", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("position__isnull", False)),
                        fields=["cluster", "position"],
                        name="comments_in_order",
                    ),
                    models.Index(
                        condition=models.Q(("position", None)), fields=["cluster", "job"], name="comments_to_number"
                    ),
                ],
            },
        ),
    ]
