"""The Django app of pages, API and commands."""

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper

from portal.database.far_times import read_far_times
from portal.database.sqlite_schema import SchemaEditor
from portal.logs import take_over


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        DatabaseWrapper.SchemaEditorClass = SchemaEditor
        connection_created.connect(read_far_times)
        take_over(is_json=settings.LOG_FORMAT == "json")
