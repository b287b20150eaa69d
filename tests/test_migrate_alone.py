"""Hosts that start together migrate one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from portal.management.commands.migrate import LOCK
from tests.processes import PATIENCE_S, wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """An empty database of its own beside that of the tests."""
    given = connection.settings_dict
    # Of this process of the tests alone: its neighbour may be at the other test.
    new = f"{given['NAME']}_migrated"
    address = f"{given['USER']}:{given['PASSWORD']}@{given['HOST']}:{given['PORT'] or 5432}"
    with psycopg.connect(f"postgres://{address}/{given['NAME']}", autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {new} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {new}")
    named = {
        "DATABASE_URL": f"postgres://{address}/{new}",
        "SECRET_KEY": "only for tests",
        "ALLOWED_HOSTS": "x.example",
    }
    yield os.environ | named | {"DJANGO_SETTINGS_MODULE": "portal.settings"}
    with psycopg.connect(f"postgres://{address}/{given['NAME']}", autocommit=True) as server:
        server.execute(f"DROP DATABASE {new} WITH (FORCE)")


def migrating(environment: dict[str, str]) -> subprocess.Popen:
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)


def test_three_that_migrate_an_empty_database_at_once_all_end_well(environment: dict[str, str]) -> None:
    programs = [migrating(environment) for _ in range(3)]
    ended = [(program.communicate(timeout=PATIENCE_S)[1], program.returncode) for program in programs]
    assert ended == [(b"", 0)] * 3


def test_whoever_comes_second_waits(environment: dict[str, str]) -> None:
    with psycopg.connect(environment["DATABASE_URL"], autocommit=True) as first:
        first.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        second = migrating(environment)
        others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        wait_until("the second", lambda: first.execute(others).fetchone())
        assert first.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
        assert second.poll() is None
        first.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        assert (second.communicate(timeout=PATIENCE_S)[1], second.returncode) == (b"", 0)
