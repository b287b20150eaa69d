"""The Django app of pages, API and commands."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper

from portal.far_times import read_far_times
from portal.sqlite_schema import SchemaEditor


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        DatabaseWrapper.SchemaEditorClass = SchemaEditor
        connection_created.connect(read_far_times)
