"""Sign-ins of programs that wait for their person."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0032_lists_counted_from_an_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="DeviceSignIn",
            fields=[
                ("device_digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("user_digest", models.CharField(max_length=64, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("approved", "Approved"),
                            ("refused", "Refused"),
                            ("spent", "Token fetched"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("device_name", models.CharField(max_length=64)),
                ("address", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("polled_at", models.DateTimeField(null=True)),
                ("interval_s", models.PositiveSmallIntegerField()),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
