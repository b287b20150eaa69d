"""What only PostgreSQL has: an audit log that is append-only, and an index of parts of job names.

A table of its own could be kept from the portal's database user, but that user owns all tables and migrates them. The
setting that lets the expiry delete entries is one of its transaction and holds an instant: a fault in it cannot delete
what is younger. No row's trigger is asked about a TRUNCATE, so that has a trigger of its own. Whoever owns the table
can still take the triggers away first: that is no slip.

A search for a part of a job's name finds it by its trigrams and not by reading every job. The owner of a database may
add this extension. The model does not name the index, because SQLite has none of its kind.
"""

from __future__ import annotations

from django.db import migrations

STATEMENTS = (
    """
CREATE FUNCTION kaiku_keep_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < NULLIF(current_setting('kaiku.audit_removes_before', true), '')::timestamptz THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are neither changed nor deleted' USING ERRCODE = 'insufficient_privilege';
END
$$
""",
    """
CREATE TRIGGER kaiku_keep_audit_entry BEFORE UPDATE OR DELETE ON jobs_auditentry
FOR EACH ROW EXECUTE FUNCTION kaiku_keep_audit_entry()
""",
    """
CREATE FUNCTION kaiku_keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit log is not emptied' USING ERRCODE = 'insufficient_privilege';
END
$$
""",
    """
CREATE TRIGGER kaiku_keep_audit_log BEFORE TRUNCATE ON jobs_auditentry
FOR EACH STATEMENT EXECUTE FUNCTION kaiku_keep_audit_log()
""",
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    "CREATE INDEX job_by_words_of_name ON jobs_job USING gin (upper(job_name) gin_trgm_ops)",
)
BACK = (
    "DROP INDEX job_by_words_of_name",
    "DROP TRIGGER kaiku_keep_audit_log ON jobs_auditentry",
    "DROP FUNCTION kaiku_keep_audit_log()",
    "DROP TRIGGER kaiku_keep_audit_entry ON jobs_auditentry",
    "DROP FUNCTION kaiku_keep_audit_entry()",
)


def add(apps, schema_editor) -> None:
    _execute(schema_editor, STATEMENTS)


def remove(apps, schema_editor) -> None:
    _execute(schema_editor, BACK)


def _execute(schema_editor, statements) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in statements:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("jobs", "0001_initial")]
    operations = [migrations.RunPython(add, remove)]
