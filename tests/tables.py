"""The tables of the product, migrated once and then copied: for each test process, and for servers that tests start.

A template is kept under a name made of what it follows from (the migrations, Django), so only the first run after a
change migrates. On SQLite it is a file in pytest's cache, on PostgreSQL a database beside the one of the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import django
import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

ROOT = Path(__file__).parent.parent
CACHE = (
    ROOT if os.access(ROOT, os.W_OK) else Path(tempfile.gettempdir(), f"kaiku-{os.getuid()}")
) / ".pytest_cache/tables"
KEPT = "kaiku_tables_"
OTHERS_KEPT = 3
LOCK = 0x7461626C6573
"""Of PostgreSQL, while a template is made ("tables")."""
WITHOUT_DISK = "ALTER DATABASE {} SET synchronous_commit = off"
"""A commit waits for the disk, for milliseconds; no test looks at a database whose machine has failed."""


def copy_sqlite(to: Path) -> None:
    """A migrated database at this path."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(sqlite_template(), to)


def create_postgresql(url: str, name: str) -> None:
    """A migrated database of this name on the server of `url`, whose database stays as it is."""
    template = _postgresql_template(url)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        server.execute(WITHOUT_DISK.format(f'"{name}"'))


def use_for_tests(connection: BaseDatabaseWrapper) -> None:
    """Let Django make the database of this test process from the template; nothing is left to migrate."""
    connection.settings_dict["TEST"]["MIGRATE"] = False
    if connection.vendor == "postgresql":
        connection.settings_dict["TEST"]["TEMPLATE"] = _postgresql_template(url_of(connection))
        return
    creation: Any = connection.creation  # as Django's own subclasses for each database, this replaces a part of it
    create = creation._create_test_db

    def create_filled(*args: object, **options: object) -> str:
        name: str = create(*args, **options)
        # A database in memory lives as long as one connection to it.
        creation.kept = sqlite3.connect(name, uri=True)
        with closing(sqlite3.connect(sqlite_template())) as template:
            template.backup(creation.kept)
        return name

    creation._create_test_db = create_filled


def url_of(connection: BaseDatabaseWrapper) -> str:
    """The address of a PostgreSQL connection's database."""
    user, password, host, port, name = (
        quote(str(connection.settings_dict[key]), safe="") for key in ("USER", "PASSWORD", "HOST", "PORT", "NAME")
    )
    return f"postgres://{user}:{password}@{host}:{port or 5432}/{name}"


def _of_name(url: str, name: str) -> str:
    """The address of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _made_from() -> str:
    """What a template follows from, as a short text."""
    digest = hashlib.sha256(repr(django.VERSION).encode())
    for path in sorted(ROOT.glob("*/migrations/*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def sqlite_template() -> Path:
    template = CACHE / f"{_made_from()}.sqlite3"
    CACHE.mkdir(parents=True, exist_ok=True)
    with _only_one():
        if not _is_whole(template):
            for old in CACHE.glob("*.sqlite3"):
                old.unlink()
            for left in CACHE.glob("made-*"):
                shutil.rmtree(left, ignore_errors=True)
            made = Path(tempfile.mkdtemp(prefix="made-", dir=CACHE))
            _migrate(DATABASE_URL="", KAIKU_VAR_DIR=str(made))
            # Without its journal beside it the file would not be whole.
            with closing(sqlite3.connect(made / "kaiku.sqlite3")) as database:
                database.execute("PRAGMA journal_mode=DELETE")
            (made / "kaiku.sqlite3").rename(template)
            shutil.rmtree(made)
    return template


def _is_whole(template: Path) -> bool:
    """Whether a template is there and was neither cut nor emptied."""
    if not template.is_file():
        return False
    try:
        with closing(sqlite3.connect(template)) as database:
            is_sound: bool = database.execute("PRAGMA quick_check").fetchone() == ("ok",)
            (migrations,) = database.execute("SELECT COUNT(*) FROM django_migrations").fetchone()
            return is_sound and int(migrations) > 0
    except sqlite3.Error:
        return False


@contextmanager
def _only_one() -> Iterator[None]:
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _postgresql_template(url: str) -> str:
    """Whoever may create databases may copy it; another checkout's stays for that one."""
    name = KEPT + _made_from()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        existing = [found for (found,) in server.execute("SELECT datname FROM pg_database ORDER BY oid DESC")]
        if name in existing:
            return name
        for old in [found for found in existing if found.startswith(KEPT)][OTHERS_KEPT:]:
            # Not if it is somebody else's, or in use.
            with suppress(psycopg.Error):
                server.execute(f'ALTER DATABASE "{old}" IS_TEMPLATE false')
                server.execute(f'DROP DATABASE "{old}"')
        making = f"{name}_{os.getpid()}"
        server.execute(f'CREATE DATABASE "{making}"')
        _migrate(DATABASE_URL=_of_name(url, making))
        try:
            server.execute(f'ALTER DATABASE "{making}" RENAME TO "{name}"')
            server.execute(f'ALTER DATABASE "{name}" IS_TEMPLATE true')
        except psycopg.errors.DuplicateDatabase:
            # The lock is one of each database, so a run in another one made it meanwhile.
            server.execute(f'DROP DATABASE "{making}"')
    return name


def _migrate(**given: str) -> None:
    given |= {"SECRET_KEY": "only for tests", "ALLOWED_HOSTS": "x.example", "DJANGO_SETTINGS_MODULE": "portal.settings"}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=os.environ | given, check=True)
