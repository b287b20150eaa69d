"""Migrations on SQLite: an index that PostgreSQL makes beside the writers is an index like any other."""

from __future__ import annotations

from django.db.backends.sqlite3.schema import DatabaseSchemaEditor
from django.db.models import Index, Model


class SchemaEditor(DatabaseSchemaEditor):
    """Takes what `AddIndexConcurrently` and `RemoveIndexConcurrently` say, so that migrations run on both."""

    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().add_index(model, index)

    def remove_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().remove_index(model, index)
