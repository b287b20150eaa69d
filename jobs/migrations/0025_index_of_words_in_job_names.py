"""A search for a part of a job's name finds it by its trigrams (PostgreSQL's `pg_trgm`), and not by reading every run.

The owner of a database may add this extension. The model does not name the index, because SQLite has none of its kind.
"""

from django.db import migrations

STATEMENTS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    # One that was interrupted stays behind, and is never used.
    "DROP INDEX CONCURRENTLY IF EXISTS job_by_words_of_name",
    "CREATE INDEX CONCURRENTLY job_by_words_of_name ON jobs_job USING gin (upper(job_name) gin_trgm_ops)",
    # The planner knows how many runs a search leaves only from the index's own statistics.
    "ANALYZE jobs_job",
)


def add_index(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        for statement in STATEMENTS:
            schema_editor.execute(statement)


def remove_index(apps, schema_editor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS job_by_words_of_name")


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("jobs", "0024_indexes_of_gpus_and_works")]
    operations = [migrations.RunPython(add_index, remove_index)]
