"""Entries about webhooks; nothing changes in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0042_tokens_that_read_the_feed"),
    ]

    operations = [
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
                    ("runs_exported", "Runs exported"),
                    ("elsewhere_imported", "Rows of another site imported"),
                    ("elsewhere_removed", "Rows of another site removed"),
                    ("webhook_made", "Webhook created"),
                    ("webhook_changed", "Webhook changed"),
                    ("webhook_removed", "Webhook removed"),
                ],
                max_length=24,
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
                    ("comment_token", "Comment token"),
                    ("elsewhere", "Rows between sites"),
                    ("webhook", "Webhook"),
                ],
                max_length=24,
                verbose_name="kind of object",
            ),
        ),
    ]
