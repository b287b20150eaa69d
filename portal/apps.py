"""The Django app of pages, API and commands."""

from django.apps import AppConfig


class PortalConfig(AppConfig):
    name = "portal"
