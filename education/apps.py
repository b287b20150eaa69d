"""The Django app of lessons."""

from django.apps import AppConfig


class EducationConfig(AppConfig):
    name = "education"
    default_auto_field = "django.db.models.BigAutoField"
