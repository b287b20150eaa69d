"""The Celery application: sweeps on a short beat; PostgreSQL holds the work, Redis only the nudges."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

application = Celery("kaiku")
application.config_from_object("django.conf:settings", namespace="CELERY")
application.autodiscover_tasks()
