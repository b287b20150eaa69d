"""The Django app of measured summaries."""

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "metrics"
    verbose_name = "Collectors"
    default_auto_field = "django.db.models.BigAutoField"
