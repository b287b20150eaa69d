"""Tokens that read the policy figures, and entries of the audit log about them and about each read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0027_audit_of_support_cases"),
    ]

    operations = [
        migrations.CreateModel(
            name="PolicyToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64, unique=True)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="action",
            field=models.CharField(
                choices=[
                    ("role_given", "Role given"),
                    ("role_taken", "Role taken"),
                    ("member_added", "Project role given"),
                    ("member_changed", "Project role changed"),
                    ("member_removed", "Project role ended"),
                    ("account_opened", "Account opened"),
                    ("account_closed", "Account closed"),
                    ("account_changed", "Account changed"),
                    ("identity_linked", "Identity linked"),
                    ("identity_unlinked", "Identity unlinked"),
                    ("sessions_ended", "Sessions ended"),
                    ("token_made", "Token created"),
                    ("token_revoked", "Token revoked"),
                    ("lesson_changed", "Lesson changed"),
                    ("job_shared", "Job shared with support"),
                    ("share_ended", "Share ended"),
                    ("tried_again", "Failed work tried again"),
                    ("case_changed", "Support case changed"),
                    ("help_offered", "Help offered by mail"),
                    ("sharing_requested", "Sharing requested"),
                    ("letter_changed", "Offer of help changed"),
                    ("policy_read", "Policy figures read"),
                ],
                max_length=24,
            ),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="actor_kind",
            field=models.CharField(
                choices=[
                    ("person", "Person"),
                    ("command", "Command"),
                    ("policy_token", "Policy token"),
                    ("directory", "Directory"),
                    ("provider", "Sign-in provider"),
                ],
                max_length=16,
                verbose_name="kind of actor",
            ),
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
                ],
                max_length=24,
                verbose_name="kind of object",
            ),
        ),
    ]
