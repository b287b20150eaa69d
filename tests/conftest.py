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

# What one example costs says nothing on a machine that does other work as well.
settings.register_profile("kaiku", deadline=None)
settings.load_profile("kaiku")

# Tests make many objects and few circles: looking for those less often saves a tenth of the time.
gc.set_threshold(50_000, 20, 20)

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


SAME_ON_EACH_DATABASE = {Path(__file__).parent / "portal" / page for page in ("compare", "job", "lessons", "settings")}
"""Pages that read and write single rows: no database does that in its own way."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--first-cases", action="store_true", help="of each test with cases, run the first that is selected"
    )


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
    need no PostgreSQL run on one database."""
    for item in items:
        if {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.django_db)
        needs_postgresql = any(map(item.get_closest_marker, ("postgresql", "celery")))
        if item.path.parent in SAME_ON_EACH_DATABASE and not needs_postgresql:
            item.add_marker(pytest.mark.one_database)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker) -> None:
    """After a test with transactions of its own Django empties every table, in databases of tests the audit log too.

    It would truncate all of them, empty or not, which takes PostgreSQL a second.
    """
    with django_db_blocker.unblock():
        if connection.vendor == "postgresql":
            connection.ops.sql_flush = _deletions


def _deletions(style: object, tables: list[str], **_: object) -> list[str]:
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
