"""Migrations on SQLite: an index that PostgreSQL creates concurrently is an ordinary index."""

from __future__ import annotations

from django.db.backends.sqlite3.schema import DatabaseSchemaEditor
from django.db.models import Index, Model


class SchemaEditor(DatabaseSchemaEditor):
    """Accepts what `AddIndexConcurrently` and `RemoveIndexConcurrently` pass, so that migrations run on both
    databases."""

    def add_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().add_index(model, index)

    def remove_index(self, model: type[Model], index: Index, concurrently: bool = False) -> None:
        super().remove_index(model, index)
