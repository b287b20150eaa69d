"""The Django app of Slurm's records and people."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "People and projects"
    default_auto_field = "django.db.models.BigAutoField"
