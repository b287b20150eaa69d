"""Settings, addresses, sign-in, ingest, API and pages; loads the Celery application for Django."""

from portal.celery import application as celery_application

__all__ = ["celery_application"]
