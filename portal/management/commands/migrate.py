"""`manage.py migrate`, one at a time: hosts and containers that start together wait for the first of them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.commands import migrate
from django.db import connection

LOCK = 0x6B61696B75  # "kaiku"
LOOK_S = 0.5


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with alone():
            super().handle(*args, **options)


@contextmanager
def alone() -> Iterator[None]:
    """While no other process of this database migrates; SQLite belongs to one machine.

    The lock is polled, because waiting for it within a statement would block the creation of a concurrent index.
    """
    if connection.vendor != "postgresql":
        yield
        return
    while not _asked("SELECT pg_try_advisory_lock(%s)"):
        time.sleep(LOOK_S)
    try:
        yield
    finally:
        _asked("SELECT pg_advisory_unlock(%s)")


def _asked(statement: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [LOCK])
        return bool(cursor.fetchone()[0])
