"""The components that Kaiku needs, each checked, and which of them this process requires."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import redis
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from redis.exceptions import RedisError

from jobs.models import Process
from jobs.processes.selectors import THERE, last_seen_at
from portal.beat_lease import LEASE
from portal.troubles import FREE_BYTES_MIN, Trouble, present_trouble
from wire.numbers import counted, duration

OK, UNKNOWN, UNUSED = "ok", "unknown", "not used"

BROKER_TIMEOUT_S = 1.0

MATTERING = ("database", "storing", "migrations")
"""Without one of these a server of pages or of the ingest cannot work. Judgements and mail may come later."""


@dataclass(frozen=True)
class Part:
    """One component and its state: `ok`, `not used`, `unknown`, or in a few words what is wrong, and if known since
    when."""

    name: str
    state: str = OK
    since: datetime | None = None

    @property
    def is_wrong(self) -> bool:
        return self.state not in (OK, UNUSED, UNKNOWN)


def parts(now: datetime) -> list[Part]:
    """Every component; no check takes longer than the database's own limits and a second for the broker."""
    return [*_of_the_database(now), *_of_the_broker(), Part("data directory", _data_directory())]


def trouble_of(found: list[Part]) -> Trouble | None:
    """Why nothing can be read from the database now; None while it answers."""
    state = next(part.state for part in found if part.name == "database")
    return next((each for each in Trouble if each.status == state), None)


def status_of(found: list[Part]) -> str:
    """`ok`, or what prevents this process from working."""
    wrong = (part for part in found if part.is_wrong and part.name in MATTERING)
    return next((part.state for part in wrong), OK)


def _of_the_database(now: datetime) -> Iterator[Part]:
    found = present_trouble()
    if found in (Trouble.UNREACHABLE, Trouble.BUSY):
        yield Part("database", found.status)
        yield from (Part(name, UNKNOWN) for name in ("storing", "migrations", "worker", "ingest"))
        return
    yield Part("database")
    yield Part("storing", found.status if found else OK)
    for name, question in (("migrations", _migrations), ("worker", _worker), ("ingest", _ingest)):
        try:
            # Running processes report in a row, which cannot be written now.
            yield Part(name, UNKNOWN) if found and name != "migrations" else question(now)
        except (DatabaseError, InterfaceError):
            # For example a table of a release that is not migrated to yet.
            yield Part(name, UNKNOWN)


def _migrations(_: datetime) -> Part:
    missing = len(_migrations_here() - set(MigrationRecorder(connection).applied_migrations()))
    return Part("migrations", f"{counted(missing, 'migration')} not applied" if missing else OK)


@cache
def _migrations_here() -> frozenset[tuple[str, str]]:
    """The migrations of this release."""
    return frozenset(MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def _worker(now: datetime) -> Part:
    at = last_seen_at(Process.Kind.WORKER)
    return _heard("worker", at, now) if at else Part("worker", "never seen, or not for a day")


def _ingest(now: datetime) -> Part:
    """Separate ingest servers, if there was one within a day; otherwise the page servers receive payloads."""
    at = last_seen_at(Process.Kind.INGEST)
    return _heard("ingest", at, now) if at else Part("ingest", UNUSED)


def _heard(name: str, at: datetime, now: datetime) -> Part:
    if now - at <= THERE:
        return Part(name)
    return Part(name, f"not seen for {duration((now - at).total_seconds())}", at)


def _of_the_broker() -> Iterator[Part]:
    if not settings.REDIS_URL:
        yield from (Part(name, UNUSED) for name in ("broker", "beat"))
        return
    try:
        with redis.from_url(
            settings.REDIS_URL, socket_timeout=BROKER_TIMEOUT_S, socket_connect_timeout=BROKER_TIMEOUT_S
        ) as store:
            is_sending = bool(store.exists(LEASE))
    except (RedisError, OSError):
        yield Part("broker", "broker unreachable")
        yield Part("beat", UNKNOWN)
        return
    yield Part("broker")
    yield Part("beat", OK if is_sending else "no beat sends")


def _data_directory() -> str:
    try:
        free_bytes = shutil.disk_usage(settings.VAR_DIR).free
    except OSError:
        return UNUSED if not settings.IS_EMBEDDED else "data directory missing"
    return OK if free_bytes >= FREE_BYTES_MIN else Trouble.DISK_FULL.status
