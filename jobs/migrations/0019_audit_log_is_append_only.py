"""PostgreSQL refuses to change entries of the audit log, and to delete any but those that the expiry names by their age;
what administrators did before is moved there.

A table of its own could be kept from the portal's database user, but that user owns all tables and migrates them. The
setting that lets the expiry delete is one of its transaction and holds an instant: a fault in it cannot delete what is
younger.
"""

from __future__ import annotations

import json

from django.db import migrations, transaction

BATCH_ROWS = 1000

FUNCTION = """
CREATE OR REPLACE FUNCTION kaiku_keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < NULLIF(current_setting('kaiku.audit_removes_before', true), '')::timestamptz THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
END
$$
"""
TRIGGER = """
CREATE OR REPLACE TRIGGER kaiku_keep_audit_entry BEFORE UPDATE OR DELETE ON jobs_auditentry
FOR EACH ROW EXECUTE FUNCTION kaiku_keep_audit_entry()
"""

KINDS = {"user": "account", "grant": "account", "collectortoken": "collector_token", "apitoken": "api_token",
         "workfailure": "work", "membership": "membership"}  # fmt: skip
ADDITION, CHANGE, DELETION = 1, 2, 3
ACTIONS = {
    ("grant", ADDITION): "role_given",
    ("grant", DELETION): "role_taken",
    ("membership", ADDITION): "member_added",
    ("membership", CHANGE): "member_changed",
    ("membership", DELETION): "member_removed",
    ("collectortoken", CHANGE): "token_revoked",
    ("apitoken", CHANGE): "token_revoked",
    ("workfailure", CHANGE): "tried_again",
}


def add_trigger(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(FUNCTION)
        schema_editor.execute(TRIGGER)


def remove_trigger(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER IF EXISTS kaiku_keep_audit_entry ON jobs_auditentry")
        schema_editor.execute("DROP FUNCTION IF EXISTS kaiku_keep_audit_entry()")


def move_log_entries(apps, schema_editor) -> None:
    """In batches, each moved as a whole or not at all: it may be stopped and run again."""
    entry_model, audit_model = apps.get_model("admin", "LogEntry"), apps.get_model("jobs", "AuditEntry")
    if schema_editor.collect_sql:
        return
    rows = entry_model.objects.select_related("user", "content_type").order_by("pk")
    while batch := list(rows[:BATCH_ROWS]):
        with transaction.atomic():
            audit_model.objects.bulk_create(audit_model(**moved(row)) for row in batch)
            entry_model.objects.filter(pk__in=[row.pk for row in batch]).delete()


def moved(row) -> dict[str, object]:
    """The columns of an entry of Django's log in ours."""
    model = row.content_type.model if row.content_type else ""
    action = ACTIONS.get((model, row.action_flag), "account_changed")
    if row.change_message == "Signed out everywhere.":
        action = "sessions_ended"
    return {
        "at": row.action_time,
        "actor_kind": "person",
        "actor": row.user.username,
        "action": action,
        "kind": KINDS.get(model, model[:24]),
        "name": row.object_repr[:255],
        "details": changed_fields(row.change_message)[:255],
    }


def changed_fields(message: str) -> str:
    """The fields that a form changed, as Django noted them; other messages say what the action says."""
    try:
        parts = json.loads(message)
    except ValueError:
        return ""
    fields = [field for part in parts if isinstance(part, dict) for field in part.get("changed", {}).get("fields", [])]
    return ", ".join(fields)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("jobs", "0018_audit_entries"),
    ]
    operations = [
        migrations.RunPython(move_log_entries, migrations.RunPython.noop),
        migrations.RunPython(add_trigger, remove_trigger),
    ]
