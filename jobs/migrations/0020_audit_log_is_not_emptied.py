"""PostgreSQL refuses to empty the audit log at once too: no row's trigger is asked about a TRUNCATE.

Whoever owns the table can still take the triggers away first: that is no slip.
"""

from __future__ import annotations

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION kaiku_keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is not emptied' USING ERRCODE = 'insufficient_privilege';
END
$$
"""
TRIGGER = """
CREATE OR REPLACE TRIGGER kaiku_keep_audit_log BEFORE TRUNCATE ON jobs_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION kaiku_keep_audit_log()
"""


def add_trigger(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(FUNCTION)
        schema_editor.execute(TRIGGER)


def remove_trigger(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP TRIGGER IF EXISTS kaiku_keep_audit_log ON jobs_auditentry")
        schema_editor.execute("DROP FUNCTION IF EXISTS kaiku_keep_audit_log()")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("jobs", "0019_audit_log_is_append_only"),
    ]
    operations = [
        migrations.RunPython(add_trigger, remove_trigger),
    ]
