"""A database for a benchmark beside the one that DATABASE_URL names, empty at the start and removed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.test.utils import setup_databases, setup_test_environment, teardown_databases


@contextmanager
def empty_database() -> Iterator[None]:
    setup_test_environment()
    databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=set())
    try:
        yield
    finally:
        teardown_databases(databases, verbosity=0)
