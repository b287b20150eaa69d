"""Django's settings as Celery reads them: settings that cannot be used end its programs with one line."""

import sys

import django.conf
from django.core.exceptions import ImproperlyConfigured


def checked_settings() -> django.conf.LazySettings:
    """The settings, read now; otherwise Celery shows a traceback of its own search for an application."""
    try:
        _ = django.conf.settings.CELERY_BROKER_URL
    except ImproperlyConfigured as error:
        sys.exit(f"Not started: {error}")
    return django.conf.settings


settings = checked_settings()
