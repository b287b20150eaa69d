"""What administrators did before there was the audit log is moved there, and can be read as before."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from jobs.models import AuditEntry, Grant, User

pytestmark = pytest.mark.django_db

migration = import_module("jobs.migrations.0019_audit_log_is_append_only")
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def log_entry(model: type, flag: int, what: str, message: str = "") -> None:
    kind = ContentType.objects.get_for_model(model)
    user = User.objects.get_or_create(username="grace")[0]
    entry = LogEntry.objects.create(
        user=user, content_type=kind, object_repr=what, action_flag=flag, change_message=message
    )
    LogEntry.objects.filter(pk=entry.pk).update(action_time=AT)


def test_entries_are_moved_with_their_times_and_what_they_say(monkeypatch) -> None:
    monkeypatch.setattr(migration, "BATCH_ROWS", 2)
    log_entry(User, CHANGE, "alice", '[{"changed": {"fields": ["Open", "Identity"]}}]')
    log_entry(User, CHANGE, "alice", "Signed out everywhere.")
    log_entry(Grant, ADDITION, "bob is Support staff (says administration)", '[{"added": {}}]')
    log_entry(Grant, DELETION, "bob is Support staff (says administration)")
    log_entry(User, CHANGE, "x" * 200, "no JSON")
    editor = connection.SchemaEditorClass(connection)
    migration.move_log_entries(apps, editor)
    migration.move_log_entries(apps, editor)
    moved = AuditEntry.objects.order_by("pk").values_list("actor", "actor_kind", "action", "kind", "name", "details")
    assert list(moved) == [
        ("grace", "person", "account_changed", "account", "alice", "Open, Identity"),
        ("grace", "person", "sessions_ended", "account", "alice", ""),
        ("grace", "person", "role_given", "account", "bob is Support staff (says administration)", ""),
        ("grace", "person", "role_taken", "account", "bob is Support staff (says administration)", ""),
        ("grace", "person", "account_changed", "account", "x" * 200, ""),
    ]
    assert set(AuditEntry.objects.values_list("at", flat=True)) == {AT}
    assert not LogEntry.objects.exists()
