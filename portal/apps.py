"""The Django app of pages, API and commands."""

from django.apps import AppConfig
from django.conf import settings
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.backends.sqlite3.schema import DatabaseSchemaEditor
from django.db.models import Index, Model

from portal.database.far_times import read_far_times
from portal.logs import take_over


class PortalConfig(AppConfig):
    name = "portal"

    def ready(self) -> None:
        DatabaseWrapper.SchemaEditorClass = SchemaEditor
        connection_created.connect(read_far_times)
        take_over(is_json=settings.LOG_FORMAT == "json")


class SchemaEditor(DatabaseSchemaEditor):
    """Accepts what `AddIndexConcurrently` and `RemoveIndexConcurrently` pass, so that migrations run on both
    databases."""

    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().add_index(model, index)

    def remove_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().remove_index(model, index)
