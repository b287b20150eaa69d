"""Migrating an empty database ends with the tables that the models describe, on each database."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from tests import tables

ONLY_BY_MIGRATION = "job_by_words_of_name"
"""The index that no model names, because SQLite has none of its kind."""

OURS = ("jobs_", "metrics_", "analysis_", "education_", "reports_")
MIGRATED = ("manage.py", "migrate", "--verbosity", "0")
AS_MODELS_SAY = (
    "-c",
    "import django\n"
    "from django.apps import apps\n"
    "from django.conf import settings\n"
    "from django.core.management import call_command\n"
    "django.setup()\n"
    "settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}\n"
    "call_command('migrate', run_syncdb=True, verbosity=0)\n",
)

ON_SQLITE = """
SELECT tables.name, printf('%s %s %s %s %s', each.name, each.type, each."notnull", each.dflt_value, each.pk)
FROM sqlite_master tables, pragma_table_info(tables.name) each WHERE tables.type = 'table'
UNION ALL SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL
"""
ON_POSTGRESQL = """
SELECT table_name, concat_ws(' ', column_name, data_type, character_maximum_length, is_nullable, column_default)
FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype <> 't'
"""
EXTRAS = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname"


def run(command: tuple[str, ...], **given: str) -> None:
    given |= {"SECRET_KEY": "only for tests", "ALLOWED_HOSTS": "x.example"}
    environment = os.environ | given | {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    subprocess.run([sys.executable, *command], cwd=settings.BASE_DIR, env=environment, check=True)


def ours(rows: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {row for row in rows if row[0].startswith(OURS)}


def test_on_sqlite(tmp_path: Path) -> None:
    tables = []
    for name, command in (("migrated", MIGRATED), ("models", AS_MODELS_SAY)):
        run(command, DATABASE_URL="", KAIKU_VAR_DIR=str(tmp_path / name))
        with closing(sqlite3.connect(tmp_path / name / "kaiku.sqlite3")) as made:
            tables.append(ours(made.execute(ON_SQLITE).fetchall()))
    migrated, models = tables
    assert len(models) > 200
    assert migrated == models


@contextmanager
def empty_database(name: str) -> Iterator[str]:
    given = connection.settings_dict
    address = f"postgres://{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT'] or 5432}"
    with psycopg.connect(f"{address}/{given['NAME']}", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
        try:
            yield f"{address}/{name}"
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_on_postgresql() -> None:
    tables, triggers = [], []
    for name, command in (("migrated", MIGRATED), ("models", AS_MODELS_SAY)):
        with empty_database(f"{connection.settings_dict['NAME']}_{name}_tables") as url:
            run(command, DATABASE_URL=url)
            with psycopg.connect(url) as made:
                tables.append(ours(made.execute(ON_POSTGRESQL).fetchall()))
                triggers = [trigger for (trigger,) in made.execute(EXTRAS)]
                assert triggers == (
                    [] if command is AS_MODELS_SAY else ["kaiku_keep_audit_entry", "kaiku_keep_audit_log"]
                )
    migrated, models = tables
    assert len(models) > 1000
    assert models - migrated == set()
    assert [ONLY_BY_MIGRATION in row[1] for row in migrated - models] == [True]


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0 and nothing more", None], ids=["empty", "cut", "whole"])
def test_a_template_that_was_damaged_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    made = []

    def migrate(*, KAIKU_VAR_DIR: str, **_: str) -> None:
        made.append(KAIKU_VAR_DIR)
        tables.copy_sqlite(Path(KAIKU_VAR_DIR) / "kaiku.sqlite3")

    template = tmp_path / tables.sqlite_template().name
    if damage is None:
        tables.copy_sqlite(template)
    else:
        template.write_bytes(damage)
    with monkeypatch.context() as context:
        whole = tables.sqlite_template()
        context.setattr(tables, "copy_sqlite", lambda to: shutil.copyfile(whole, to))
        context.setattr(tables, "CACHE", tmp_path)
        context.setattr(tables, "_migrate", migrate)
        assert tables.sqlite_template() == template
    assert len(made) == (damage is not None)
    with closing(sqlite3.connect(template)) as database:
        assert database.execute("SELECT COUNT(*) FROM django_migrations").fetchone() > (0,)


def test_addresses_keep_what_must_be_quoted() -> None:
    given = {"USER": "dev", "PASSWORD": "a@b/c:d", "HOST": "/run/pg", "PORT": "", "NAME": "kaiku"}
    url = tables.url_of(SimpleNamespace(settings_dict=given))
    assert psycopg.conninfo.conninfo_to_dict(url) == {
        **{"user": "dev", "password": "a@b/c:d", "host": "/run/pg", "port": "5432", "dbname": "kaiku"}
    }
