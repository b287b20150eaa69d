"""What every test may use: a fixed clock; and which tests touch rows, so that they run on each database."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from hypothesis import settings

from jobs.hardware import use_site
from jobs.site_profile import bundled_site
from tests import ending, tables, telling, uses
from tests.kinds import is_quick, uses_programs
from tests.parts import need
from tests.processes import heed_signals
from tests.time_by_kind import TimeByKind

# What one example costs says nothing on a machine that does other work as well; no run depends on an earlier one.
settings.register_profile("kaiku", deadline=None, database=None)
settings.load_profile("kaiku")

# Tests make many objects and few circles: looking for those less often saves a tenth of the time.
gc.set_threshold(50_000, 20, 20)

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


PARTS_OF_MARKS = {
    "browser": ["Chromium"],
    "celery": ["the tests' PostgreSQL", "Redis"],
    "hosts": ["network namespaces", "PostgreSQL's programs", "redis-server", "setpriv"],
    "postgresql": ["the tests' PostgreSQL"],
    "slurm": ["Slurm"],
}

SAME_ON_EACH_DATABASE = {Path(__file__).parent / "portal" / page for page in ("compare", "job", "lessons", "settings")}
"""Pages that read and write single rows: no database does that in its own way."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--first-cases", action="store_true", help="of each test with cases, run the first that is selected"
    )


def pytest_configure(config: pytest.Config) -> None:
    for plugin in (ending, telling, uses, TimeByKind()):
        config.pluginmanager.register(plugin)
    heed_signals()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Cases differ in what is asked, seldom in what a database does: the second database gets the first of them."""
    if session.config.getoption("--first-cases"):
        first = {}
        for item in session.items:
            first.setdefault(item.nodeid.partition("[")[0], item)
        session.items[:] = first.values()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that gets its database through a fixture is marked like one that asks for it; of some pages, those that
    need no PostgreSQL run on one database. Tests of a module that wait for programs, or share what a fixture of theirs
    started, stay in one process of the suite; these begin first, so that others compute while they wait."""
    for item in items:
        asks_for_rows = {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
        # A second mark would be the closer one, and undo that the test's transactions are real.
        if asks_for_rows and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db)
        if uses_programs(item):
            item.add_marker(pytest.mark.programs)
        if is_quick(item):
            item.add_marker(pytest.mark.quick)
        needs_postgresql = any(map(item.get_closest_marker, ("postgresql", "celery")))
        if item.path.parent in SAME_ON_EACH_DATABASE and not needs_postgresql:
            item.add_marker(pytest.mark.one_database)
        if not item.get_closest_marker("xdist_group") and (item.get_closest_marker("programs") or _shares(item)):
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath))))


def _shares(item: pytest.Item) -> bool:
    """Whether a fixture is made once for all tests of the module."""
    information = getattr(item, "_fixtureinfo", None)
    found = information.name2fixturedefs.values() if information else ()
    return any(fixture.scope == "module" for fixtures in found for fixture in fixtures)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before any fixture: what a test needs is here, or it is left out."""
    for mark in item.iter_markers():
        need(*(mark.args if mark.name == "needs" else PARTS_OF_MARKS.get(mark.name, ())))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """The database of the tests begins as a copy of tables that were migrated once."""
    tables.use_for_tests(connection)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker) -> None:
    """After a test with transactions of its own Django empties every table, in databases of tests the audit log too.

    It would truncate all of them, empty or not, which takes PostgreSQL a second.
    """
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            # Of every connection: while a browser is open, a test has another one than before.
            type(connection.ops).sql_flush = _deletions
            with connection.cursor() as cursor:
                cursor.execute(tables.WITHOUT_DISK.format(connection.ops.quote_name(connection.settings_dict["NAME"])))
            # That holds for connections from now on.
            connection.close()


def _deletions(_: object, style: object, tables: list[str], **more: object) -> list[str]:
    """The statements that delete the rows there are, in any order of the tables and past the audit log's guard."""
    quoted = [connection.ops.quote_name(name) for name in tables]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in quoted))
        return [
            "SET LOCAL session_replication_role = replica",
            *(f"DELETE FROM {name}" for (name,) in cursor.fetchall()),
        ]


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def campus() -> Iterator[None]:
    """A site with A100 GPUs, whose power is each GPU's own."""
    use_site(bundled_site("example_a100"))
    yield
    use_site(None)
