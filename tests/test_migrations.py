"""No migration keeps a large table from its readers and writers: squawk reads the SQL of each for PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from tests.processes import PATIENCE_S

pytestmark = [pytest.mark.postgresql, pytest.mark.needs("squawk"), pytest.mark.django_db(transaction=True)]

SQUAWK = Path(sys.executable).with_name("squawk")
APPS = ("jobs", "metrics", "analysis", "education", "reports")
PG_VERSION = "15"

FIRST = {"0001_initial", "0002_on_postgresql"}
"""They make the tables, while nobody waits for one."""

# Rules of squawk about style, and about programs of the version before, which a site stops while it migrates.
NOT_ABOUT_LOCKS = (
    *("prefer-bigint-over-int", "prefer-bigint-over-smallint", "prefer-text-field", "prefer-identity"),
    *("prefer-robust-stmts", "prefer-timestamptz", "require-lock-timeout", "require-statement-timeout"),
    *("ban-drop-column", "ban-drop-table", "renaming-column", "renaming-table", "transaction-nesting"),
)
INDEX = "Use AddIndexConcurrently or RemoveIndexConcurrently, in a migration of its own with `atomic = False`."
CONSTRAINT = "Use AddConstraintNotValid, and ValidateConstraint in the next migration."
COLUMN = "Add another column beside it, fill it with a RunPython of `atomic = False`, and read that one."
DEFAULT = "Give the field a db_default that is a plain value, or null=True."
INSTEAD = {
    "require-concurrent-index-creation": INDEX,
    "require-concurrent-index-deletion": INDEX,
    "disallowed-unique-constraint": f"{INDEX} A unique constraint of a large table needs its index first.",
    "constraint-missing-not-valid": CONSTRAINT,
    "adding-foreign-key-constraint": "Use db_constraint=False, or AddConstraintNotValid and ValidateConstraint.",
    "changing-column-type": COLUMN,
    "adding-not-nullable-field": COLUMN,
    "adding-required-field": DEFAULT,
    "adding-field-with-default": DEFAULT,
    "ban-drop-default": DEFAULT,
}
FILL = (
    "RunPython: it holds the locks of the operations beside it until it ends, and its own to the end of all rows. "
    "Put it in a migration of its own with `atomic = False`, and fill in batches."
)


def state_before(migration: migrations.Migration) -> ProjectState:
    loader = MigrationLoader(connection)
    key = (migration.app_label, migration.name)
    at_end = key not in loader.graph.nodes
    return loader.project_state(None if at_end else key, at_end=at_end)


def sql_of(migration: migrations.Migration) -> str:
    with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
        migration.apply(state_before(migration), editor, collect_sql=True)
    return "\n".join(editor.collected_sql)


def complaints(migration: migrations.Migration) -> list[str]:
    """What this migration would lock for as long as a table is large, each with what to do instead."""
    command = [SQUAWK, "--reporter", "json", "--pg-version", PG_VERSION, "--exclude", ",".join(NOT_ABOUT_LOCKS)]
    if migration.atomic:
        command.append("--assume-in-transaction")
    done = subprocess.run(
        command, input=sql_of(migration), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    found = [f"{each['rule_name']}: {each['message']} {instead(each)}" for each in json.loads(done.stdout)]
    is_filled = any(isinstance(operation, migrations.RunPython) for operation in migration.operations)
    return [*found, *([FILL] if migration.atomic and is_filled else [])]


def instead(found: dict[str, str]) -> str:
    return INSTEAD.get(found["rule_name"]) or found["help"] or ""


def test_every_migration_of_tables_with_rows_keeps_the_rule() -> None:
    disk = MigrationLoader(connection).disk_migrations
    later = {key: found for key, found in disk.items() if key[0] in APPS and key[1] not in FIRST}
    assert {key: found for key, migration in later.items() if (found := complaints(migration))} == {}


def migration(*operations: migrations.operations.base.Operation, atomic: bool = True) -> migrations.Migration:
    """One more migration of the jobs, made of these operations."""
    made = migrations.Migration("9999_next", "jobs")
    made.operations, made.atomic = list(operations), atomic
    return made


NAME = models.Index(fields=["job_name"], name="job_by_name")
POSITIVE = models.CheckConstraint(condition=models.Q(gpus_allocated__gte=0), name="not_negative")
LOCKING = {
    "an index that blocks writers": (migrations.AddIndex("job", NAME), "AddIndexConcurrently"),
    "a drop of an index": (migrations.RemoveIndex("job", "job_by_work"), "RemoveIndexConcurrently"),
    "a column that old writers cannot fill": (
        migrations.AddField("job", "colour", models.CharField(max_length=8, default="")),
        "db_default",
    ),
    "a column whose default is another for each row": (
        migrations.AddField("job", "luck", models.FloatField(db_default=models.functions.Random())),
        "db_default",
    ),
    "another type": (migrations.AlterField("job", "ntasks", models.BigIntegerField(null=True)), "another column"),
    "a column with a foreign key": (
        migrations.AddField("job", "twin", models.ForeignKey("jobs.Job", models.CASCADE, null=True)),
        "db_constraint=False",
    ),
    "a check of all rows": (migrations.AddConstraint("job", POSITIVE), "AddConstraintNotValid"),
    "a unique constraint": (
        migrations.AddConstraint("job", models.UniqueConstraint(fields=["job_name"], name="one_name")),
        "AddIndexConcurrently",
    ),
    "a fill within the transaction": (migrations.RunPython(migrations.RunPython.noop), "atomic = False"),
}


@pytest.mark.parametrize("what", LOCKING)
def test_what_locks_is_refused_with_what_to_do_instead(what: str) -> None:
    operation, advice = LOCKING[what]
    found = complaints(migration(operation))
    assert found
    assert any(advice in each for each in found)


@pytest.mark.parametrize(
    "allowed",
    [
        migration(AddIndexConcurrently("job", NAME), atomic=False),
        migration(migrations.AddField("job", "colour", models.CharField(max_length=8, db_default="", default=""))),
        migration(migrations.AddField("job", "seen_at", models.DateTimeField(null=True))),
        migration(migrations.RemoveField("job", "script_key")),
        migration(migrations.RunPython(migrations.RunPython.noop), atomic=False),
    ],
    ids=["index beside writers", "plain default", "null", "removal", "fill in batches"],
)
def test_what_is_quick_is_let_through(allowed: migrations.Migration) -> None:
    assert complaints(allowed) == []
