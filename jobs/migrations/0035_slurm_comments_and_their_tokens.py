"""When a person opted in to comments in Slurm, and the tokens with which an operator of Slurm reads them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0034_hints_at_submission"),
    ]

    operations = [
        migrations.CreateModel(
            name="CommentToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, unique=True)),
                ("cluster", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="user",
            name="slurm_comments_since",
            field=models.DateTimeField(null=True),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="kind",
            field=models.CharField(
                choices=[
                    ("account", "Account"),
                    ("membership", "Membership"),
                    ("collector_token", "Collector token"),
                    ("api_token", "Personal token"),
                    ("lesson", "Lesson"),
                    ("job", "Job"),
                    ("work", "Background work"),
                    ("case", "Support case"),
                    ("letter", "Offer of help"),
                    ("policy_token", "Policy token"),
                    ("policy", "Policy figures"),
                    ("comment_token", "Comment token"),
                ],
                max_length=24,
                verbose_name="kind of object",
            ),
        ),
    ]
