"""People's answers to "was this right?", month by month."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analysis", "0023_sum_again_what_ended_early")]

    operations = [
        migrations.CreateModel(
            name="AnswerMonth",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("first_day", models.DateField(unique=True)),
                ("figures", models.JSONField()),
                ("closed_at", models.DateTimeField()),
            ],
        ),
    ]
